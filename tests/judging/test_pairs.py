"""Two mistakes at once are named as two."""

import random
from functools import cache

import pytest

from grader.course import Exercise
from grader.judging.reference import reference
from grader.observe.trace import Trace
from tests.judging.examined import examined, quickly, runs_of

PAIR_SEEDS = (0, 1)
PAIRS_PER_EXERCISE = 15
EXERCISES = quickly("train_step", "sgd_update", "lr_at")


@cache
def counted(exercise: str, seed: int) -> tuple[int, int]:
    """Of a sample of pairs that are named as two mistakes: how many as the two that were made, and as others.

    Two minutes for `train_gpt`; kept for the test that adds up, which runs in the same process.
    """
    its = reference(exercise, seed)
    exact = other = 0
    for pair in random.Random(seed).sample(its.pairs, min(PAIRS_PER_EXERCISE, len(its.pairs))):
        verdict, diagnosis = examined(Trace(runs=runs_of(pair, its)), its)
        assert verdict.status != "passed", pair.ids
        found = [mistake.ids for mistake in diagnosis.mistakes]
        assert found, pair.ids
        if len(found) == 1:  # it behaves like a single mistake: the other one does not show
            continue
        assert len(found) == 2
        if all(any(i in ids for ids in found) for i in pair.ids):
            exact += 1
        else:
            other += 1
    return exact, other


@pytest.mark.parametrize("seed", PAIR_SEEDS)
@pytest.mark.parametrize("exercise", EXERCISES)
def test_two_mistakes_at_once_are_named(exercise: Exercise, seed: int) -> None:
    counted(exercise.name, seed)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_two_mistakes_at_once_are_named_as_two(exercise: Exercise) -> None:
    """A sample of the pairs: each is named, and mostly as the two that were made.

    Not always: clearing once an epoch in a `fit` that ends after one epoch is never clearing in it, and in an
    `evaluate` that returns after one batch, losses summed without weights are losses summed. What is named then
    behaves the same in every scenario. Where one of the two hides part of the other, no grader can tell: one in six.
    """
    results = [counted(exercise.name, seed) for seed in PAIR_SEEDS]
    exact, other = (sum(numbers) for numbers in zip(*results, strict=True))
    assert other <= max(1, (exact + other) // 6), (exact, other)
