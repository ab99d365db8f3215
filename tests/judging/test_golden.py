"""Golden transcripts: a change of what learners read shows as a diff, and is meant."""

import pytest

from grader.course.course import Exercise
from grader.report.hold_back import mistake_hints
from tests.golden.transcripts import as_text, feedbacks, kept, wording
from tests.judging.examined import COURSE, EXERCISES
from tests.places import TESTS


@pytest.mark.parametrize("exercise", EXERCISES)
def test_feedback_reads_as_it_was_kept(exercise: Exercise) -> None:
    told = list(feedbacks(exercise))
    now = as_text(told)
    assert wording(now) == wording(kept(exercise.name)), (
        f"what learners read has changed; look at it with: python -m tests.golden {exercise.name} && git diff"
    )
    for _, feedback in told:
        for named in feedback.diagnosis.mistakes:
            symptom, place, repair = mistake_hints(feedback, named)
            assert not any(title in symptom.split("\n")[0] for title in named.titles), (
                "the symptom is the name"
            )
            assert named.hint in place
            assert all(title in repair for title in named.titles)


def test_every_transcript_belongs_to_an_exercise() -> None:
    assert {path.stem for path in (TESTS / "golden").glob("*.txt")} == set(COURSE.exercises)


def test_only_numbers_may_differ_between_machines() -> None:
    assert wording("0.weight[3] 0.250012 · 12%  █████") == wording("0.weight[7] 0.25 · 13%  ███")
    assert wording("2번째 업데이트") != wording("3번째 업데이트")
    assert wording("지우지 않아요") != wording("지워요")
