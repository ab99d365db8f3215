"""The table that ends `grader grade`."""

import io
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console

from grader.course.feedback import ClassResult, SubmissionResult
from grader.report.class_table import class_table
from tests.report import samples


def rendered(result: ClassResult, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(class_table(result, width=width))
    return captured.get()


def test_class_table_fits_80_columns() -> None:
    """One row a student, whatever the name."""
    text = rendered(samples.small_class())
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "최서연" not in text.split("채점하지 못한 제출 1개")[0]
    for start in ("김하윤", "이서준", "<script>", "=HYPERLINK(1)", "aaaaaaa"):
        assert len([line for line in lines if line.lstrip().startswith(start)]) == 1
    assert "10/28" in text
    assert "✗✗✗✗✓✗!" in text
    assert "8명 · 평균 15.8 · 중앙값 17.5 · 만점 28 · 모두 통과 2명" in text


def test_class_table_of_a_large_class_shows_the_lowest_scores_and_counts_all() -> None:
    """300 lines would scroll the summary away."""
    students = [samples.passed_all(f"s{i:03}") if i % 10 else samples.typical(f"s{i:03}") for i in range(300)]
    text = rendered(ClassResult(1, "cpu", "bwrap", tuple(students)))
    assert len(text.splitlines()) < 70
    assert all(f"s{i:03}" in text for i in range(0, 300, 10))
    assert "300명 · 평균" in text
    assert "모두 통과 270명" in text
    assert "30명" in text.split("가장 많이 나온 실수")[1]


def test_class_table_with_four_lessons_fits() -> None:
    """The whole course in one run: a score a lesson, marks as counts."""
    made = [replace(f, lesson=f"{n:02}") for n in range(1, 5) for f in samples.typical("x").feedbacks]
    text = rendered(ClassResult(1, "cpu", "bwrap", (SubmissionResult("김하윤", tuple(made)),)))
    assert max(map(cell_len, text.splitlines())) <= 80
    assert text.count("10/28") == 4
    assert "✓4 ✗20 !4" in text


def test_what_to_look_at_first_stands_whole() -> None:
    """Beside the marks where there is room, below them where there is none; never cut."""
    first = samples.joined().message.replace("`", "")
    one = ClassResult(1, "cpu", "bwrap", (SubmissionResult("김하윤", (samples.joined(),)),))
    for width in (60, 80, 100, 140):
        text = rendered(one, width)
        assert first in " ".join(text.split()), width
        assert "…" not in text
        assert max(map(cell_len, text.splitlines())) <= width
    assert len(rendered(one, 60).splitlines()) > len(rendered(one, 140).splitlines())


def test_a_lesson_that_nobody_began_has_no_column() -> None:
    text = rendered(samples.large_class(8))
    assert "아무도 시작하지 않은 레슨: 02" in text
    assert "레슨 01" in text
    assert "아무도" not in rendered(samples.small_class())


def test_empty_class_has_a_sentence() -> None:
    assert "채점한 학생이 없어요" in rendered(ClassResult(1, "cpu", "none", ()))


def test_a_long_name_keeps_its_end() -> None:
    """Files of a class begin alike; their ends tell them apart."""
    names = [f"01_five_line_step_{name}.ipynb" for name in ("kim", "lee", "박서연")]
    text = rendered(ClassResult(1, "cpu", "bwrap", tuple(map(samples.typical, names))))
    for end in ("m.ipynb", "e.ipynb", "연.ipynb"):
        assert end in text
    assert all(cell_len(line) <= 80 for line in text.splitlines())
    assert "01_five_l…" in text
