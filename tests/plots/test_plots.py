"""The lessons' plots: every Hangul syllable has a glyph, colours keep contrast, a sentence stands by."""

import warnings
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")  # before pyplot: no display in CI

import torch
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.ft2font import FT2Font
from torch import nn

from grader import plots
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


def test_colors_keep_contrast_on_their_own_panel() -> None:
    """The panel is opaque, so that a dark notebook changes nothing: WCAG 7:1 for text, 3:1 for lines."""
    plots.use_course_style()
    panel = plots.COLORS["panel"]
    for key in ("axes.facecolor", "figure.facecolor", "savefig.facecolor"):
        assert mpl.rcParams[key] == panel
    assert min(_contrast(plots.COLORS[name], panel) for name in ("text", "muted")) >= 7
    assert min(_contrast(plots.COLORS[name], panel) for name in ("right", "wrong", "third", "fourth")) >= 3


def test_show_outside_a_notebook_says_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """In a terminal the description stands for the picture, and the figure is closed."""
    figure, _ = plt.subplots()
    plots.show(figure, "빈 그림입니다.")
    assert capsys.readouterr().out == "[그림] 빈 그림입니다.\n"
    assert plt.get_fignums() == []


def test_show_in_a_notebook_carries_alt_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence is the picture's alt text, its plain-text form, and is printed below it."""
    published = []
    monkeypatch.setattr(plots, "publish", lambda bundle, metadata: not published.append((bundle, metadata)))
    figure, _ = plt.subplots(figsize=(4, 2))
    plots.show(figure, "빈 그림입니다.")
    ((bundle, metadata),) = published
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert "빈 그림입니다." in bundle["text/plain"]
    assert metadata["image/png"] == {"width": 384, "height": 192, "alt": "빈 그림입니다."}
    assert capsys.readouterr().out == "그림 설명: 빈 그림입니다.\n"


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
