"""Fixed slices of `python -m tests.holes` and `tests.holes.one_case`: nothing passes without a reason."""

import os

import pytest

from tests.holes.__main__ import found
from tests.holes.one_case import FILE
from tests.holes.one_case import found as found_in_one_case
from tests.holes.reasons import REASONS, read_reasons
from tests.judging.examined import COURSE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks")


@pytest.mark.parametrize("name", ["zero_gradients", "sgd_update", "train_step", "seed_everything"])
def test_no_edit_passes_without_a_reason(name: str) -> None:
    passed, count = found(COURSE.exercise(name))
    reasons = read_reasons()
    assert count
    assert [one for one in passed if not reasons.get(one)] == []


def test_reasons_are_from_the_list() -> None:
    every = [*read_reasons().values(), *read_reasons(FILE).values()]
    assert {why for why in every if why} <= REASONS.keys()


@pytest.mark.parametrize("name", ["amp_step", "accumulate_weighted"])
def test_no_mistake_in_one_case_only_passes_without_a_reason(name: str) -> None:
    passed, count = found_in_one_case(COURSE.exercise(name))
    reasons = read_reasons(FILE)
    assert count
    assert [one for one in passed if not reasons.get(one)] == []
