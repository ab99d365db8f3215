"""The lessons' plots: every Hangul syllable has a glyph, colours keep contrast in both themes, axes have names."""

import base64
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

mpl.use("Agg")  # before pyplot: no display in CI

import torch
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from torch import nn

from grader import plots
from grader.course.course import Lesson
from grader.course.reading import load_course
from grader.paths import CourseNotFound, asset_path

SYLLABLES = range(0xAC00, 0xD7A4)


@pytest.fixture(autouse=True)
def fresh_style():
    with mpl.rc_context():
        yield
    plt.close("all")


@pytest.mark.parametrize("name", plots.FONT_FILES)
def test_font_holds_every_syllable(name: str) -> None:
    """A subset of the usual 2,350 syllables would draw boxes for 뷁, 똠 and 펲."""
    glyphs = FT2Font(str(asset_path("fonts", name))).get_charmap()
    assert [chr(code) for code in SYLLABLES if code not in glyphs] == []
    assert [sign for sign in "AaZz09−×→≤∇μθ「」·…①ㄱㅎㅏㅣ" if ord(sign) not in glyphs] == []


def test_font_licence_travels_with_the_font() -> None:
    """The OFL asks for its text beside the font."""
    licence = asset_path("fonts", "OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "Reserved Font Name 'Source'" in licence  # not "Noto": a subset may keep the name


def test_style_uses_the_bundled_font() -> None:
    """Also on a machine that has no Korean font, or another one of the same name."""
    plots.use_course_style()
    fonts = asset_path("fonts").resolve()
    bundled = {entry.fname for entry in font_manager.fontManager.ttflist if entry.name == plots.FONT_FAMILY}
    assert {str(fonts / name) for name in plots.FONT_FILES} <= {str(Path(name).resolve()) for name in bundled}
    for weight in ("normal", "bold"):
        found = font_manager.findfont(font_manager.FontProperties(family=plots.FONT_FAMILY, weight=weight))
        assert 0xBDC1 in FT2Font(found).get_charmap(), found  # 뷁


def test_hangul_draws_without_missing_glyphs() -> None:
    """Matplotlib warns about each glyph it misses; signs the font lacks fall back to DejaVu Sans."""
    plots.use_course_style()
    figure, axes = plt.subplots()
    axes.set_title("뷁 똠 펲 쀍 힣: 그레이디언트 −1.5 × 10⁻⁷ ∇L → 0")
    axes.set_xlabel("스텝 ₁ ₖ", fontweight="bold")
    axes.plot([-1, 1], [1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()


def test_style_survives_without_assets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without its files still draws, in DejaVu Sans."""

    def lost(*parts: str) -> Path:
        raise CourseNotFound

    monkeypatch.setattr(plots, "asset_path", lost)
    plots.use_course_style()
    assert mpl.rcParams["font.family"] == ["DejaVu Sans"]


def _luminance(color: str) -> float:
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("palette", "ground"), [(plots.COLORS, "#FFFFFF"), (plots.DARK_COLORS, "#111111")], ids=["light", "dark"]
)
def test_colors_keep_contrast_on_the_ground_of_their_theme(palette: Mapping[str, str], ground: str) -> None:
    """JupyterLab's two grounds. WCAG asks 3:1 of lines; labels may have a line's colour, so these keep 4.5:1."""
    assert palette["panel"] == ground
    assert min(_contrast(palette[name], ground) for name in ("text", "muted")) >= 7
    assert min(_contrast(palette[name], ground) for name in ("right", "wrong", "third", "fourth")) >= 4.5
    assert 1.2 <= _contrast(palette["grid"], ground) < 2, "seen, but not before the lines"


def test_dark_colors_do_not_glare() -> None:
    """Nothing in a dark notebook's picture is as bright as a white page."""
    assert max(map(_luminance, plots.DARK_COLORS.values())) < 0.75


def test_plots_stand_on_the_panel() -> None:
    plots.use_course_style()
    for key in ("axes.facecolor", "figure.facecolor", "savefig.facecolor", "legend.facecolor"):
        assert mpl.rcParams[key] == plots.COLORS["panel"]
    assert mpl.rcParams["legend.frameon"]


def _plotted() -> Figure:
    plots.use_course_style()
    figure, axes = plt.subplots(figsize=(4, 2))
    axes.plot([1, 3, 2], color=plots.COLORS["wrong"], label="버그")
    axes.set(xlabel="스텝", ylabel="손실")
    axes.legend()
    return figure


def test_a_picture_holds_both_palettes_and_no_other_colour() -> None:
    """Every colour is a variable, which has a value for light and one for dark notebooks."""
    drawing = plots.two_palettes(_plotted())
    style = re.search(r"<style>svg(.+?)</style>", drawing)
    assert style is not None
    light, dark = style[1].split("@media(prefers-color-scheme:dark)")
    for name, color in plots.COLORS.items():
        assert f"--{name}:{color};" in light
        assert f"--{name}:{plots.DARK_COLORS[name]};" in dark
    assert re.findall(r"#[0-9a-fA-F]{6}\b", drawing.replace(style[0], "")) == []
    assert {"panel", "text", "grid", "wrong"} <= set(re.findall(r"var\(--(\w+)\)", drawing))
    ElementTree.fromstring(drawing)


def test_a_picture_is_the_same_every_time() -> None:
    """A rebuilt notebook differs only where its pictures do."""
    assert plots.two_palettes(_plotted()) == plots.two_palettes(_plotted())


def test_an_axis_with_numbers_needs_a_name() -> None:
    plots.use_course_style()
    figure, (left, right) = plt.subplots(1, 2, sharey=True)
    left.plot([1, 2])
    right.bar(["바른 루프", "이 루프"], [1, 2])
    assert plots.unnamed_axes(figure) == ["패널 1의 x축", "패널 1의 y축"]
    left.set(xlabel="스텝", ylabel="손실")
    assert plots.unnamed_axes(figure) == []


def test_show_refuses_axes_without_names() -> None:
    """Every lesson shows its figures with `show`, so every built lesson has named axes."""
    plots.use_course_style()
    figure, axes = plt.subplots()
    axes.set_xlabel("스텝")
    with pytest.raises(ValueError, match="패널 1의 y축"):
        plots.show(figure, "이름이 없는 축입니다.")
    assert plt.get_fignums() == []


@pytest.mark.parametrize("lesson", load_course().lessons, ids=lambda lesson: lesson.name)
def test_lessons_show_their_figures_by_show(lesson: Lesson) -> None:
    """Not by `plt.show()` or as a cell's value, which know neither the theme nor the names of axes."""
    source = "".join(part.source.read_text(encoding="utf-8") for part in lesson.parts)
    assert "plt.show(" not in source
    assert source.count("plt.subplots(") <= len(re.findall(r"^\s*show\(", source, re.MULTILINE))
    assert "plt.figure(" not in source


def test_show_outside_a_notebook_says_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """In a terminal the description stands for the picture, and the figure is closed."""
    plots.show(_plotted(), "빈 그림입니다.")
    assert capsys.readouterr().out == "[그림] 빈 그림입니다.\n"
    assert plt.get_fignums() == []


def test_show_in_a_notebook_carries_alt_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence is the picture's alt text and its caption, and is not printed beside it once more."""
    published = []
    monkeypatch.setattr(plots, "publish", lambda bundle, metadata: not published.append((bundle, metadata)))
    plots.show(_plotted(), '빈 "그림"입니다.')
    ((bundle, metadata),) = published
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert '빈 "그림"입니다.' in bundle["text/plain"]
    assert metadata["image/png"] == {"width": 384, "height": 192, "alt": '빈 "그림"입니다.'}
    told = "빈 &quot;그림&quot;입니다."
    assert f'<img alt="{told}"' in bundle["text/html"]
    assert f">{told}</figcaption>" in bundle["text/html"]
    drawing = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', bundle["text/html"])
    assert drawing is not None
    assert base64.b64decode(drawing[1]).startswith(b"<svg")
    assert capsys.readouterr().out == ""


def test_table_is_markdown_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """Floats keep three significant digits, everything else is shown as it is."""
    plots.show_table(["이름", "값"], [["손실", 0.123456], ["스텝", 45]])
    assert capsys.readouterr().out == "| 이름 | 값 |\n| --- | --- |\n| 손실 | 0.123 |\n| 스텝 | 45 |\n"


def test_backward_graph_has_a_box_a_node() -> None:
    """One AccumulateGrad box for each parameter, named; a node reached by two ways is drawn once."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    shared = model(torch.ones(2, 3))
    figure = plots.draw_backward_graph((shared * shared.exp()).sum(), dict(model.named_parameters()))
    labels = [text.get_text() for text in figure.axes[0].texts if text.get_text()]
    leaves = sorted(label.split("\n")[1] for label in labels if label.startswith("AccumulateGrad"))
    assert leaves == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert sum(label.startswith("Addmm") for label in labels) == 2


def test_a_cycle_shows_each_step_and_marks_one_arrow() -> None:
    steps = {"가": "하나", "나": "둘", "다": "셋", "라": "넷"}
    (axes,) = plots.draw_cycle(steps, marked="다").axes
    assert [text.get_text() for text in axes.texts if text.get_text()] == [*steps, *steps.values()]
    colors = [to_hex(text.arrow_patch.get_edgecolor()) for text in axes.texts if hasattr(text, "arrow_patch")]
    right, wrong = (to_hex(plots.COLORS[name]) for name in ("right", "wrong"))
    assert colors == [right, right, wrong, right]
