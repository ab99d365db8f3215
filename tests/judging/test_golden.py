"""Golden transcripts: a change of what learners read shows as a diff, and is meant."""

import pytest

from grader.course.course import Exercise
from tests.golden.transcripts import kept, transcript, wording
from tests.judging.examined import COURSE, EXERCISES
from tests.places import TESTS


@pytest.mark.parametrize("exercise", EXERCISES)
def test_feedback_reads_as_it_was_kept(exercise: Exercise) -> None:
    now = transcript(exercise)
    assert wording(now) == wording(kept(exercise.name)), (
        f"what learners read has changed; look at it with: python -m tests.golden {exercise.name} && git diff"
    )


def test_every_transcript_belongs_to_an_exercise() -> None:
    assert {path.stem for path in (TESTS / "golden").glob("*.txt")} == set(COURSE.exercises)


def test_only_numbers_may_differ_between_machines() -> None:
    assert wording("0.weight[3] 0.250012 · 12%  █████") == wording("0.weight[7] 0.25 · 13%  ███")
    assert wording("2번째 업데이트") != wording("3번째 업데이트")
    assert wording("지우지 않아요") != wording("지워요")
