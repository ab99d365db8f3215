"""Draw the preview picture of a shared link, 1200 by 630 pixels, when the site is built."""

from collections.abc import Sequence
from pathlib import Path

_INCHES, _DPI = (12.0, 6.3), 100
_GROUND, _TEXT, _QUIET, _ACCENT = "#15181d", "#f2f4f8", "#aeb6c2", "#2b9a5a"
_LINES = ("zero_grad()", "model(x)", "loss_fn(…)", "backward()", "step()")


def draw_picture(path: Path, title: str, lines: Sequence[str]) -> None:
    """Draw the picture of one page.

    Args:
        path: path of the PNG.
        title: title of the page; split into two lines if long.
        lines: lines of text below the title.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grader.plots import use_course_style

    with mpl.rc_context():
        use_course_style()
        figure = Figure(figsize=_INCHES, dpi=_DPI, facecolor=_GROUND)
        figure.set_layout_engine("none")
        FigureCanvasAgg(figure)
        figure.text(0.07, 0.83, "한 스텝", color=_ACCENT, fontsize=30, weight="bold")
        size = 62 if len(title) <= 14 else 46
        figure.text(
            0.07,
            0.56,
            "\n".join(two_lines(title, 26)),
            color=_TEXT,
            fontsize=size,
            weight="bold",
            va="center",
        )
        for number, line in enumerate(lines):
            figure.text(0.07, 0.31 - 0.075 * number, line, color=_QUIET, fontsize=24)
        for number, line in enumerate(_LINES):
            x = 0.07 + number * 0.175
            last = number == len(_LINES) - 1
            figure.text(
                x,
                0.075,
                line,
                color=_ACCENT if last else _QUIET,
                fontsize=17,
                weight="bold" if last else "normal",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=_DPI, facecolor=_GROUND, metadata={"Software": None})


def two_lines(text: str, longest: int = 34) -> tuple[str, ...]:
    """Split text longer than `longest` characters between words, near its middle."""
    if len(text) <= longest:
        return (text,)
    words = text.split(" ")
    pairs = [(" ".join(words[:n]), " ".join(words[n:])) for n in range(1, len(words))]
    return min(pairs, key=lambda pair: abs(len(pair[0]) - len(pair[1])), default=(text,))
