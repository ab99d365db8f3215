"""A fixed slice of `python -m tests.holes`: no edit of these solutions passes without a reason."""

import os

import pytest

from tests.holes.__main__ import found
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
    assert {why for why in read_reasons().values() if why} <= REASONS.keys()
