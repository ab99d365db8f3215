"""A program's tree, made once for all who read it."""

import ast

import pytest

from grader.course.reading import load_course
from grader.grading.grade_submission import grade_one
from grader.grading.grading_run import GradingRun
from grader.submission.submission import read_submission
from grader.submission.syntax import top_level


@pytest.mark.parametrize(
    "text", ["def f(:\n", "\0", "(" * 10_000, "x = " + "-" * 100_000 + "1", f"x = 0x{'f' * 4000}"]
)
def test_what_is_no_program_has_no_tree(text: str) -> None:
    assert top_level(text) == ()


def test_a_long_text_of_hexadecimal_digits_is_no_number() -> None:
    assert len(top_level(f"key = '0x{'f' * 4000}'")) == 1


@pytest.mark.full
def test_a_file_is_parsed_once_however_many_exercises_fail(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest takes a second; each failing exercise asked for its tree five times."""
    course = load_course()
    filler = "".join(f"x{number} = [1, 2, {number}]\n" for number in range(500))
    functions = "".join(f"def {name}(*args, **kwargs):\n    return None\n" for name in course.exercises)
    (tmp_path / "hw.py").write_text(functions + filler)
    submission = read_submission(tmp_path / "hw.py", tuple(course.exercises))
    (file,) = submission.files
    parse, texts = ast.parse, []

    def counted(text, *how, **more):
        texts.append(text)
        return parse(text, *how, **more)

    monkeypatch.setattr(ast, "parse", counted)
    grade_one(GradingRun(course, course.lessons[:1], seed=7, sandbox="none"), submission)
    assert texts.count(file.text) == 1
