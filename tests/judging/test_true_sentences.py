"""A sentence about a mistake is told only where it is true."""

import re

import pytest

from grader.course.conditions import CONDITION_WORDS, full_text, parts_of, unconditional_text
from grader.course.course import CourseError, Exercise
from grader.judging.edits import MistakeVariant
from grader.judging.explain import Explanation
from grader.judging.reference import Reference, cached_reference
from grader.judging.true_sentences import (
    _PREDICATES,
    ComparedRuns,
    condition_holds,
    explanations_of_combined_mistakes,
)
from tests.judging.examined import EXERCISES, runs_of

SEED = 1


def runs(its: Reference, *ids: str) -> ComparedRuns:
    """The runs of the program with these mistakes; sentences of the first are looked at."""
    made = tuple(variant for id_ in ids for variant in its.variants if variant.name == id_)
    program = its.source_with_mistakes(made)
    assert program is not None
    return ComparedRuns(
        usual=made[0],
        made=made[0],
        explanation=Explanation(combination=made),
        judged_runs=runs_of(program, its),
        reference=its,
    )


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_condition_holds_where_the_mistake_is_made_alone(exercise: Exercise) -> None:
    """Otherwise a sentence would never be told of the program that it was written for."""
    its = cached_reference(exercise.name, SEED)
    for mistake in exercise.mistakes:
        for number in range(len(mistake.programs)):
            text = mistake.explanation(number)
            if number and text == mistake.explain:
                continue
            variant = MistakeVariant(mistake, number)
            conditions = [part.condition for part in parts_of(text) if part.condition]
            alone = runs(its, variant.name) if conditions else None
            for condition in conditions:
                assert alone is not None
                assert condition_holds(condition, alone), (variant.name, condition)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_something_is_true_whatever_else_is_wrong(exercise: Exercise) -> None:
    for mistake in exercise.mistakes:
        for number in range(len(mistake.programs)):
            text = mistake.explanation(number)
            assert unconditional_text(text).endswith("요."), mistake.id
            assert not re.search(r"\{[a-z ]+:|[.}][가-힣]", full_text(text)), "a condition that is not read"


def test_a_value_is_called_right_only_if_it_is() -> None:
    its = cached_reference("train_step", SEED)
    told = {
        variants: explanations_of_combined_mistakes(tuple(v for v in its.variants if v.name in variants), its)
        for variants in (("returns-tensor",), ("softmax-before-loss", "returns-tensor"))
    }
    assert "값은 맞지만" in told["returns-tensor",][0]
    both = " ".join(told["softmax-before-loss", "returns-tensor"])
    assert "값은 맞지만" not in both
    assert "손실에서 숫자를 꺼내지 않았어요" in both, "what the code does is told all the same"


@pytest.mark.parametrize(
    ("exercise", "ids", "condition", "holds"),
    [
        ("train_step", ["missing-step"], "alone", True),
        ("train_step", ["missing-step", "prints"], "alone", False),
        ("train_step", ["missing-step", "prints"], "unmixed", True),
        ("train_step", ["missing-zero-grad", "scaled-loss"], "unmixed", False),
        ("train_step", ["missing-step"], "still", True),
        ("train_step", ["missing-step", "step-at-start"], "still", False),
        ("train_step", ["missing-zero-grad"], "later", True),
        ("train_step", ["scaled-loss", "missing-zero-grad"], "later", False),
        ("train_step", ["swapped-loss-arguments"], "raises", True),
        ("train_step", ["swapped-loss-arguments"], "raises ZeroDivisionError", False),
        ("train_step", ["returns-nothing"], "returns NoneType", True),
        ("train_step", ["returns-tensor"], "returns NoneType", False),
        ("autograd_nodes", ["returns-set"], "returns set", True),
        ("accumulate", ["fails-on-empty"], "returns int", False),  # one int fewer: nothing has another type
        ("train_step", ["prints"], "only print를 부름", True),
        ("train_step", ["prints", "returns-tensor"], "only print를 부름", False),
        ("train_step", ["prints"], "right returned and right theta in sgd", True),
        ("train_step", ["softmax-before-loss"], "right returned", False),
        ("train_step", ["scaled-loss"], "wrong theta", True),
        ("accumulate", ["returns-micro-count"], "more returned", True),
        ("accumulate", ["returns-micro-count"], "less returned", False),
        ("train_step", ["returns-loss-over-batch"], "less returned", True),
        ("train_step", ["scaled-loss", "prints"], "same sgd", True),
        ("train_step", ["scaled-loss", "missing-zero-grad"], "same sgd", False),
    ],
)
def test_conditions(exercise: str, ids: list[str], condition: str, holds: bool) -> None:
    assert condition_holds(condition, runs(cached_reference(exercise, SEED), *ids)) is holds


@pytest.mark.parametrize(
    "condition",
    [
        *("sometimes", "right returned in nowhere", "same nowhere", "same sgd in adamw"),
        *("alone in sgd", "unmixed in sgd", "unmixed returned"),
    ],
)
def test_a_condition_that_cannot_be_read_is_refused(condition: str) -> None:
    with pytest.raises(CourseError, match="실수 설명의 조건"):
        condition_holds(condition, runs(cached_reference("train_step", SEED), "missing-step"))


def test_the_words_that_are_read_are_those_that_are_checked() -> None:
    assert tuple(_PREDICATES) == CONDITION_WORDS


@pytest.mark.parametrize(
    ("exercise", "variants", "false"),
    [
        ("plan_steps", ["rejects-the-ends/1"], "0.001을 주었는데"),
        ("plan_steps", ["rejects-the-ends/2"], "0.2를 주었는데"),
        ("weight_decay_groups", ["spares-embeddings", "tied-twice"], "그 계층의 감쇠까지 빠져요"),
        ("BestCheckpoint", ["not-atomic/2"], "있던 자리에 바로 쓰면"),
        ("shard_indices", ["accepts-any-rank/1"], "world보다 크거나 같은"),
        ("shard_indices", ["accepts-any-rank/2"], "음수인"),
        ("clip_global_norm", ["nan-spreads/3"], "NaN인 노름으로"),
    ],
)
def test_what_happens_beside_another_mistake_or_variant_is_told_only_if_it_is_true(
    exercise: str, variants: list[str], false: str
) -> None:
    its = cached_reference(exercise, SEED)
    made = tuple(variant for variant in its.variants if variant.name in variants)
    assert len(made) == len(variants)
    assert all(false not in told for told in explanations_of_combined_mistakes(made, its))


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_variant_with_a_text_of_its_own_is_told_what_happened(exercise: Exercise) -> None:
    """Its conditions are compared with its own runs; with those of the usual variant, some would never hold."""
    its = cached_reference(exercise.name, SEED)
    for variant in its.variants:
        text = variant.mistake.explanation(variant.number)
        if (
            variant.copy
            or text == variant.mistake.explain
            or all(not part.condition for part in parts_of(text))
        ):
            continue
        (told,) = explanations_of_combined_mistakes((variant,), its)
        assert told == full_text(text), variant.name
