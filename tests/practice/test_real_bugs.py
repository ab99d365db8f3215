"""실제로 있었던 버그: each really fails and is named as it says, and a broken file is told in Korean."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.course.course import CourseError
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.practice.real_bugs import RealBug, case_of, load_real_bugs


@pytest.fixture
def _anew() -> Iterator[None]:
    load_real_bugs.cache_clear()
    yield
    load_real_bugs.cache_clear()


def test_there_are_enough_from_different_places() -> None:
    assert len(load_real_bugs()) >= 8
    assert len({bug.link for bug in load_real_bugs()}) == len(load_real_bugs())
    assert len({bug.mistakes for bug in load_real_bugs()}) >= 8


@pytest.mark.parametrize("bug", load_real_bugs(), ids=lambda bug: bug.id)
def test_each_fails_and_is_named(bug: RealBug) -> None:
    case = case_of(bug, load_course())
    program = load_program(case.text, name=f"real_{bug.id}")
    trace = play(case.exercise.driver, program, seed=SEED)
    known = cached_reference(bug.exercise, SEED)
    feedback = assess(case.exercise, trace, known, LearnerCode(case.text))
    assert feedback.status == "failed"
    assert len(feedback.mistake_ids) == len(bug.mistakes)
    for id_, joined in zip(bug.mistakes, feedback.mistake_ids, strict=True):
        assert id_ in joined.split("|"), joined
    assert not feedback.diagnosis.unexplained


@pytest.mark.usefixtures("_anew")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: "[[bugs", "내용이 맞지 않아요"),
        (lambda text: text.replace("zero-grad-once", "no-such-mistake"), "no-such-mistake"),
        (lambda text: text.replace('exercise = "resume"', 'exercise = "resumee"'), "resumee"),
        (lambda text: text.replace('id = "rae-67"', 'id = "scico-2"'), "겹쳐요"),
        (lambda text: text.replace("year = 2026", "year = 'x'"), "내용이 맞지 않아요"),
        (
            lambda text: text.replace("https://github.com/bytetriper", "javascript:alert"),
            "내용이 맞지 않아요",
        ),
        (lambda text: None, "파일을 읽지 못했어요"),
    ],
    ids=("cut", "mistake", "exercise", "twice", "type", "link", "gone"),
)
def test_a_broken_file_is_told(change, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    from grader import paths

    text = paths.solutions_path("real_bugs.toml").read_text(encoding="utf-8")
    other = tmp_path / "real_bugs.toml"
    if (changed := change(text)) is not None:
        assert changed != text
        other.write_text(changed, encoding="utf-8")
    monkeypatch.setattr(paths, "solutions_path", lambda *parts: other)
    with pytest.raises(CourseError, match=told):
        load_real_bugs()
