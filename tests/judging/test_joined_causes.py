"""Where two mistakes cannot be told apart, feedback says only what is true of both, or names both."""

import pytest

from grader.grading import SEED
from grader.judging.reference import cached_reference
from grader.observe.trace import Trace
from tests.judging.examined import JOINED, TITLED_APART, examined, runs_of


@pytest.mark.parametrize(
    ("exercise", "group"), [(exercise, group) for exercise, groups in JOINED.items() for group in groups]
)
def test_one_title_is_true_of_both(exercise: str, group: tuple[str, ...]) -> None:
    its = cached_reference(exercise, SEED)
    told = set()
    for mistake in group:
        _, diagnosis = examined(Trace(runs=runs_of(its.sources[mistake], its)), its)
        (named,) = diagnosis.mistakes
        assert named.ids == group
        told.add((named.titles, named.hint))
    ((titles, _),) = told
    assert len(titles) == (2 if group in TITLED_APART else 1)


def test_the_narrower_mistake_is_told() -> None:
    """Dividing in neither pass includes not dividing in the second: that much is certain."""
    its = cached_reference("sam_accumulate", SEED)
    _, diagnosis = examined(Trace(runs=runs_of(its.sources["no-division"], its)), its)
    assert diagnosis.mistakes[0].titles == ("두 번째 패스를 구간의 길이로 나누지 않았어요",)


def test_graphs_of_training_and_of_validation_are_told_apart() -> None:
    its = cached_reference("train", SEED)
    for mistake in ("keeps-graphs", "keeps-validation-graphs"):
        _, diagnosis = examined(Trace(runs=runs_of(its.sources[mistake], its)), its)
        assert [named.id for named in diagnosis.mistakes] == [mistake]
