"""Show plots and tables in lessons: plots with Hangul that are legible in light and in dark notebooks.

It is not part of the grading flow. Lessons import it, and so do the parts of the grader that show output in a cell.
"""

import base64
import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from grader.paths import CourseNotFound, asset_path

FONT_FAMILY = "Noto Sans KR"
FONT_FILES = ("NotoSansKR-Regular.ttf", "NotoSansKR-Bold.ttf")

# Based on the palette of Okabe and Ito (https://jfly.uni-koeln.de/color/), whose colours can be told apart with any
# kind of colour vision. On its theme's background every colour but the grid's has a contrast of at least 4.5:1, so that
# a label may have the colour of its line.
COLORS: Mapping[str, str] = {
    "right": "#0072B2",  # behaviour of the right program: blue
    "wrong": "#BD5000",  # behaviour of the bug: vermilion
    "third": "#007C5A",  # a third series: green
    "fourth": "#8F4A7A",  # a fourth series: purple
    "text": "#22262E",
    "muted": "#4A515D",
    "grid": "#D9DADF",
    "panel": "#FFFFFF",  # background of JupyterLab's light theme
}
DARK_COLORS: Mapping[str, str] = {
    "right": "#56B4E9",
    "wrong": "#F58B4C",
    "third": "#35C495",
    "fourth": "#D69BC5",
    "text": "#D6D9E0",
    "muted": "#A7ADB9",
    "grid": "#343A44",
    "panel": "#111111",  # background of JupyterLab's dark theme
}
"""Replacements in dark notebooks for the colours of the same names."""

_SCREEN_DPI = 96
_SHARPNESS = 2  # image pixels for each screen pixel, for high-density screens
_NARROWEST = (
    560  # pixels; on a narrower screen a wide picture scrolls instead of shrinking until it is illegible
)
# A picture inside <img> cannot see the notebook's theme, but it does see the colour scheme of its element. This sets
# the scheme by the theme in JupyterLab, VS Code and Colab.
_FOLLOW_THEME = (
    '[data-jp-theme-light="true"] .hanstep-figure img{color-scheme:light}'
    '[data-jp-theme-light="false"] .hanstep-figure img,.vscode-dark .hanstep-figure img,'
    "html[theme=dark] .hanstep-figure img{color-scheme:dark}"
)


def use_course_style() -> None:
    """Register the course's font and set matplotlib's defaults for a lesson.

    The colours are those of the light theme; `show` adds the dark ones. If the font's files are missing (a copy of the
    package without assets), plots are drawn in DejaVu Sans.
    """
    families = [FONT_FAMILY, "DejaVu Sans"] if _register_fonts() else ["DejaVu Sans"]
    order = [COLORS[name] for name in ("right", "wrong", "third", "fourth")]
    mpl.rcParams.update(
        {
            "font.family": families,
            "font.size": 11,
            "axes.titlesize": 12,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 10,
            "axes.facecolor": COLORS["panel"],
            "axes.edgecolor": COLORS["muted"],
            "axes.labelcolor": COLORS["text"],
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.prop_cycle": cycler(color=order),
            "axes.unicode_minus": True,
            "grid.color": COLORS["grid"],
            "grid.linewidth": 0.8,
            "xtick.color": COLORS["text"],
            "ytick.color": COLORS["text"],
            "text.color": COLORS["text"],
            "legend.frameon": True,
            "legend.facecolor": COLORS["panel"],
            "legend.edgecolor": "none",
            "legend.framealpha": 0.8,
            "lines.linewidth": 1.8,
            "figure.facecolor": COLORS["panel"],
            "figure.figsize": (7.2, 3.6),
            "figure.constrained_layout.use": True,
            "figure.constrained_layout.w_pad": 0.1,
            "figure.constrained_layout.h_pad": 0.1,
            "savefig.facecolor": COLORS["panel"],
            "savefig.dpi": _SCREEN_DPI * _SHARPNESS,
        }
    )


def _register_fonts() -> bool:
    """Register the bundled font with matplotlib; return False if its files are missing."""
    try:
        paths = [asset_path("fonts", name) for name in FONT_FILES]
    except CourseNotFound:
        return False
    if not all(path.is_file() for path in paths):
        return False
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in paths:
        if str(path) not in known:
            font_manager.fontManager.addfont(path)
    return True


def show(figure: Figure, description: str) -> None:
    """Display a figure, and close it.

    The picture is a vector graphic with two sets of colours that follows the notebook's theme. Where HTML is not shown,
    a PNG image in the light colours takes its place.

    Args:
        figure: the figure.
        description: a Korean sentence that says what the figure shows; it becomes the alternative text, the caption and
            the plain-text output.

    Raises:
        ValueError: an axis shows numbers but has no label.
    """
    nameless = unnamed_axes(figure)
    if nameless:
        plt.close(figure)
        raise ValueError(f'축의 이름이 없습니다: {", ".join(nameless)}. 예: axis.set_xlabel("스텝")')
    image = io.BytesIO()
    figure.savefig(image, format="png", metadata={"Software": None, "Description": description})
    width, height = (round(side * _SCREEN_DPI) for side in figure.get_size_inches())
    drawing = base64.b64encode(two_palettes(figure).encode()).decode()
    plt.close(figure)
    told = html.escape(description)
    markup = (
        f'<style>{_FOLLOW_THEME}</style><figure class="hanstep-figure" style="margin:0;overflow-x:auto">'
        f'<img alt="{told}" width="{width}" style="height:auto;max-width:100%;min-width:{min(width, _NARROWEST)}px" '
        f'src="data:image/svg+xml;base64,{drawing}">'
        f'<figcaption aria-hidden="true" style="font-size:0.9em">{told}</figcaption></figure>'
    )
    bundle = {"text/html": markup, "image/png": image.getvalue(), "text/plain": f"[그림] {description}"}
    if not publish(bundle, {"image/png": {"width": width, "height": height, "alt": description}}):
        print(bundle["text/plain"])


def unnamed_axes(figure: Figure) -> list[str]:
    """Return the axes that show numbers but have no label, as `"패널 1의 x축"`.

    An axis whose tick labels are words, or are shown at a neighbouring panel only, needs no label.
    """
    figure.canvas.draw()
    return [
        f"패널 {number}의 {way}축"
        for number, panel in enumerate(figure.axes, start=1)
        for way, axis in (("x", panel.xaxis), ("y", panel.yaxis))
        if panel.axison and axis.get_visible() and not axis.get_label_text() and _shows_numbers(axis)
    ]


def _shows_numbers(axis: Axis) -> bool:
    """True if a visible tick label has a digit and is not a phrase such as `배치 1`."""
    texts = [tick.get_text() for tick in axis.get_ticklabels(which="both") if tick.get_visible()]
    return any(re.search(r"\d", text) and not re.search(r"[가-힣]{2}|[A-Za-z]{3}", text) for text in texts)


def two_palettes(figure: Figure) -> str:
    """Return a figure as SVG with light and dark colours; the colour scheme of the surrounding element decides."""
    drawn = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    # The salt makes output reproducible
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "hanstep"}):
        figure.savefig(drawn, format="svg", metadata=nothing)
    names = {color.lower(): name for name, color in COLORS.items()} | {"#000000": "text"}
    colored = re.sub(
        "|".join(names), lambda found: f"var(--{names[found[0]]})", drawn.getvalue(), flags=re.IGNORECASE
    )
    lighter = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), colored)
    light, dark = (
        "".join(f"--{name}:{color};" for name, color in palette.items()) for palette in (COLORS, DARK_COLORS)
    )
    style = f"svg{{fill:var(--text);{light}}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}"
    return lighter[lighter.index("<svg") :].replace("<defs>", f"<defs><style>{style}</style>", 1)


def show_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Display a table as Markdown, which a terminal shows as text; floats have three significant digits."""
    cells = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    if not publish({"text/markdown": text, "text/plain": text}, {}):
        print(text)


def publish(
    bundle: dict[str, Any], metadata: dict[str, Any], *, name: str | None = None, update: bool = False
) -> bool:
    """Publish a MIME bundle in the notebook; return False if there is no notebook.

    Args:
        bundle: MIME type -> data.
        metadata: MIME type -> metadata.
        name: name of the output, by which it can be replaced later.
        update: replace the outputs of that name instead of adding one.
    """
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    shell: Any = get_ipython()
    if shell is None:
        return False
    transient = {} if name is None else {"display_id": name}
    shell.display_pub.publish(data=bundle, metadata=metadata, transient=transient, update=update)
    return True


def draw_backward_graph(loss: Any, names: Mapping[str, Any]) -> Figure:
    """Draw the graph that `loss.backward()` walks: a box for each node, the loss at the left, parameters at the right.

    Args:
        loss: a tensor whose graph has at most a few dozen nodes.
        names: label -> leaf tensor; the labels are written into the `AccumulateGrad` boxes.
    """
    leaf_labels = {id(tensor): label for label, tensor in names.items()}
    depth: dict[Any, int] = {}
    edges: set[tuple[Any, Any]] = set()

    def visit(node: Any, level: int) -> None:
        if level <= depth.get(node, -1):
            return
        depth[node] = level
        for following, _ in node.next_functions:
            if following is not None:
                edges.add((node, following))
                visit(following, level + 1)

    visit(loss.grad_fn, 0)
    columns: dict[int, list[Any]] = {}
    for node, level in depth.items():
        columns.setdefault(level, []).append(node)
    spot = {
        node: (level, (len(column) - 1) / 2 - row)
        for level, column in columns.items()
        for row, node in enumerate(column)
    }

    tallest = max(len(column) for column in columns.values())
    figure, axes = plt.subplots(figsize=(1.3 * len(columns) + 0.2, 0.65 * tallest + 0.5))
    axes.axis("off")
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(-(tallest - 1) / 2 - 0.5, (tallest - 1) / 2 + 0.5)
    boxes = {}
    for node, (x, y) in spot.items():
        leaf = getattr(node, "variable", None)
        label = type(node).__name__.replace("Backward", "\nBackward")
        if leaf is not None:
            label = f"AccumulateGrad\n{leaf_labels.get(id(leaf), '?')}"
        color = COLORS["wrong"] if leaf is not None else COLORS["right"]
        frame = {
            "boxstyle": "round,pad=0.4",
            "facecolor": COLORS["panel"],
            "edgecolor": color,
            "linewidth": 1.5,
        }
        boxes[node] = axes.text(x, y, label, ha="center", va="center", fontsize=8.5, bbox=frame)
    for start, end in edges:
        arrow = {
            "arrowstyle": "-|>",
            "color": COLORS["muted"],
            "shrinkA": 0,
            "shrinkB": 2,
            "patchA": boxes[start].get_bbox_patch(),
            "patchB": boxes[end].get_bbox_patch(),
        }
        axes.annotate("", xy=spot[end], xytext=spot[start], arrowprops=arrow)
    return figure


def draw_cycle(steps: Mapping[str, str], *, marked: str) -> Figure:
    """Draw four steps as a cycle, clockwise from the upper left, with what each passes on to the next.

    Args:
        steps: the label of a step -> what stands at the arrow that leaves it.
        marked: the label of the step whose arrow has the colour of what is wrong.
    """
    spots = dict(zip(steps, [(0.0, 1.0), (2.0, 1.0), (2.0, 0.0), (0.0, 0.0)], strict=True))
    figure, axes = plt.subplots(figsize=(6.4, 2.2))
    axes.axis("off")
    axes.set_xlim(-0.7, 2.7)
    axes.set_ylim(-0.35, 1.35)
    frame = {
        "boxstyle": "round,pad=0.45",
        "facecolor": COLORS["panel"],
        "edgecolor": COLORS["muted"],
        "linewidth": 1.5,
    }
    boxes = {
        name: axes.text(x, y, name, ha="center", va="center", fontsize=9, bbox=frame)
        for name, (x, y) in spots.items()
    }
    names = list(steps)
    for name, following in zip(names, names[1:] + names[:1], strict=True):
        arrow = {
            "arrowstyle": "-|>",
            "color": COLORS["wrong" if name == marked else "right"],
            "linewidth": 2,
            "shrinkA": 2,
            "shrinkB": 2,
            "patchA": boxes[name].get_bbox_patch(),
            "patchB": boxes[following].get_bbox_patch(),
        }
        axes.annotate("", xy=spots[following], xytext=spots[name], arrowprops=arrow)
        x, y = ((one + other) / 2 for one, other in zip(spots[name], spots[following], strict=True))
        if spots[name][1] == spots[following][1]:
            axes.text(x, y + 0.14, steps[name], ha="center", va="center", fontsize=9)
        elif x < 1:
            axes.text(x - 0.08, y, steps[name], ha="right", va="center", fontsize=9)
        else:
            axes.text(x + 0.08, y, steps[name], ha="left", va="center", fontsize=9)
    return figure
