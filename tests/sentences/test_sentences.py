"""The sentences of a fixed slice of combined mistakes are true; the command tries thousands (tests/README.md)."""

from itertools import islice

import pytest

from grader.course.course import Exercise
from grader.judging.reference import cached_reference
from tests.judging.examined import COURSE, quickly
from tests.sentences.__main__ import SEED, alone, drawn, false_sentences
from tests.sentences.claims import claims_of, opposites_in

SLICE = {2: 36, 3: 18}
"""Number of mistakes -> number of combinations that are tried here."""
EVERY = 4
"""Of the variants of single mistakes, every fourth one is tried here."""


@pytest.mark.parametrize("exercise", quickly("train_step"))
def test_sentences_of_one_mistake_are_true(exercise: Exercise) -> None:
    its = cached_reference(exercise.name, SEED)
    assert [false for one in islice(alone(its), 0, None, EVERY) for false in false_sentences(its, one)] == []


@pytest.mark.full
@pytest.mark.parametrize("size", SLICE)
def test_sentences_of_combined_mistakes_are_true(size: int) -> None:
    references = [cached_reference(name, SEED) for name in COURSE.exercises]
    found = [
        (its.exercise.name, [variant.name for variant in combination], false)
        for its, combination in drawn(references, size, SLICE[size], SEED)
        for false in false_sentences(its, combination)
    ]
    assert found == []


def test_claims_are_read() -> None:
    text = "매개변수가 하나도 움직이지 않았어요. 값은 맞지만 float가 아니에요. 지난 배치의 그레이디언트가 쌓여요."
    assert [condition for _, condition in claims_of(text)] == ["still", "right returned"]
    assert opposites_in(["값은 맞지만 float가 아니에요.", "반환값이 None이에요."])
    assert not opposites_in(["값은 맞지만 float가 아니에요.", "화면에 글이 찍혔어요."])
