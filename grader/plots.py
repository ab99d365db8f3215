"""What lessons show: plots with Hangul that hold in light and dark notebooks, tables.

Stands outside the grading flow: lessons import it, and `grader.learning.predictions` for what it shows in a cell.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from grader.paths import CourseNotFound, asset_path

FONT_FAMILY = "Noto Sans KR"
FONT_FILES = ("NotoSansKR-Regular.ttf", "NotoSansKR-Bold.ttf")

# Okabe and Ito's colours (https://jfly.uni-koeln.de/color/), told apart with any kind of colour vision.
# Both text colours keep at least 7:1 on the panel, every line colour at least 3:1.
COLORS: Mapping[str, str] = {
    "right": "#0072B2",  # what the right program does: blue
    "wrong": "#D55E00",  # what the bug does: vermilion
    "third": "#007C5A",  # a third series: green, darkened for contrast
    "fourth": "#8F4A7A",  # a fourth: purple, darkened for contrast
    "text": "#22262E",
    "muted": "#4A515D",
    "grid": "#D9DADF",
    "panel": "#F8F8F6",
}

_SCREEN_DPI = 96
_SHARPNESS = 2  # image pixels for each screen pixel, for high-density screens


def use_course_style() -> None:
    """Register the course's font and set matplotlib's defaults for a lesson.

    The panel is opaque and light, so that a plot reads the same in a dark notebook. Without the font's files
    (a copy of the package without assets) the plots still come, in DejaVu Sans.
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
            "legend.frameon": False,
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
    """Register the bundled font with matplotlib; return whether it is there."""
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
    """Display a figure once, with a Korean sentence that says what it shows, and close it.

    The sentence is the picture's alternative text (metadata `alt`, which nbconvert writes into `<img alt>`),
    its plain-text form, and is printed below the picture, where no frontend can lose it.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None, "Description": description})
    width, height = (round(side * _SCREEN_DPI) for side in figure.get_size_inches())
    plt.close(figure)
    bundle = {"image/png": picture.getvalue(), "text/plain": f"[그림] {description}"}
    if publish(bundle, {"image/png": {"width": width, "height": height, "alt": description}}):
        print(f"그림 설명: {description}")
    else:
        print(bundle["text/plain"])


def show_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Display a table: Markdown in a notebook, the same text in a terminal; floats to three digits."""
    cells = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    if not publish({"text/markdown": text, "text/plain": text}, {}):
        print(text)


def publish(
    bundle: dict[str, Any], metadata: dict[str, Any], *, name: str | None = None, update: bool = False
) -> bool:
    """Publish a MIME bundle if there is a notebook to show it in; return whether there was one.

    Args:
        bundle: MIME type -> data.
        metadata: MIME type -> metadata.
        name: of the output, by which it can be replaced.
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
    """Draw what `loss.backward()` walks: a box for each node, the loss at the left, the parameters at the right.

    Args:
        loss: a tensor with a graph of at most a few dozen nodes.
        names: label -> leaf tensor; the labels of the `AccumulateGrad` boxes.
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
        frame = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": color, "linewidth": 1.5}
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
