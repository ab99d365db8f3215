"""Driver of `gather_metrics`, which returns the accuracy over all ranks from each rank's counts.

Promises of the exercise, and the scenarios that check them:
    the accuracy is that of all data counted at once, on every rank: `unequal`, `three-ranks`, `one-empty`
    counts may be integers or tensors: `tensors`
    tens of millions are counted exactly: `large`
    tensors that were given stay as they are: `tensors`
    without any data, every rank raises ValueError: `nothing`
    a float is returned: `types`

The contract of all exercises adds: nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from grader.exercises.several_processes._group import groups_of
from grader.exercises.several_processes._ranks import call_on_ranks, catching, several_ranks
from grader.observe.play import Driver, Stage
from grader.observe.values import as_number
from grader.observe.wording import yes_or_no

driver = Driver("gather_metrics")


class _Counts(NamedTuple):
    """What one rank has counted: its arguments of the learner's function."""

    right: Any
    """Number of right answers, or a tensor of it."""
    total: Any
    """The same for all answers."""


def _draw_counts(stage: Stage, totals: Sequence[tuple[int, int]]) -> list[_Counts]:
    """Draw the counts of each rank.

    Args:
        stage: the scenario's stage.
        totals: for each rank, the lowest and the highest number of all its answers.
    """
    draw = stage.env.draw("counts")
    counts = []
    for low, high in totals:
        total = draw.whole(low, high)
        counts.append(_Counts(draw.whole(0, total), total))
    return counts


def _call(stage: Stage, counts: Sequence[_Counts], **options: Any) -> list[Any]:
    """Call the learner's function on every rank, and return the results; `options` are those of `call_on_ranks`."""
    with several_ranks(len(counts)) as world:
        arguments = [
            (*counts_of_rank, group) for counts_of_rank, group in zip(counts, groups_of(world), strict=True)
        ]
        return call_on_ranks(stage, "gather_metrics", arguments, world, **options)


def _record_accuracies(stage: Stage, counts: Sequence[_Counts]) -> None:
    """Call the learner's function on every rank, and record what each rank returned."""
    for value in _call(stage, counts):
        stage.recorder.returned(value)


@driver.scenario("unequal", "rank마다 다른 개수", check="accuracy")
def _unequal(stage: Stage) -> None:
    """Count on two ranks of very different size. A wrong program takes the mean of the accuracies."""
    _record_accuracies(stage, _draw_counts(stage, ((5, 9), (90, 120))))


@driver.scenario("three-ranks", "rank 세 개", check="accuracy")
def _three_ranks(stage: Stage) -> None:
    """Count on three ranks. A wrong program returns each rank's own accuracy, or the right one on rank 0 only."""
    _record_accuracies(stage, _draw_counts(stage, ((20, 30), (2, 4), (50, 60))))


@driver.scenario("one-empty", "데이터가 없는 rank", check="edges")
def _one_empty(stage: Stage) -> None:
    """Count on a rank without data. A wrong program divides there by zero."""
    _record_accuracies(stage, [_Counts(0, 0), *_draw_counts(stage, ((20, 30),))])


@driver.scenario("nothing", "모든 rank에 데이터가 없을 때", check="edges")
def _nothing(stage: Stage) -> None:
    """Count on ranks without data, after a call with some. A wrong program returns 0 or NaN."""
    _record_accuracies(stage, _draw_counts(stage, ((5, 9), (5, 9))))
    results = _call(stage, [_Counts(0, 0)] * 2, around=catching(ValueError))
    raised = [rank for rank, result in enumerate(results) if isinstance(result, ValueError)]
    stage.recorder.fact("모두 0일 때 거절한 rank", [*raised])


@driver.scenario("large", "수천만 개", check="edges", atol=0.03)
def _large(stage: Stage) -> None:
    """Give counts beyond 2**24, where float32 lacks some whole numbers. A wrong program sums or divides in float32.

    The returned accuracy times the total is a number of answers, and its last digits are recorded. The wrong programs
    lose half an answer or more, far above the tolerance; float64 rounds by less than 1e-7.
    """
    # The totals are exact in float32, so the only errors are those in the right answers. Over both ranks there are
    # 12k + 5 right answers, for some k. Summed in float32 they become 12k + 4, one too few. Divided by the total in
    # float32, too, they give the quotient of 12k + 4.5, half an answer too few. So the two wrong programs differ.
    draw, total = stage.env.draw("large"), 3 * 2**24
    most, few = 12 * draw.whole(1_500_000, 1_650_000) + 5, 12 * draw.whole(1, 5)
    values = _call(stage, [_Counts(most, total - 64), _Counts(few, 64)])
    # Only the last digits are recorded, because tolerances grow with the numbers: a right value gives `few` + 10.
    last_digits = [as_number(v) * total - most + 10 for v in values]
    stage.recorder.array("돌려준 정확도에서 되짚은 맞힌 개수의 끝자리", last_digits)


@driver.scenario("tensors", "텐서로 받은 개수", check="edges")
def _tensors(stage: Stage) -> None:
    """Pass tensors, of shapes () and (1,). A wrong program writes the sum into them, which the recorder notices."""
    counts = [
        _Counts(torch.tensor(right), torch.tensor([total]))
        for right, total in _draw_counts(stage, ((5, 9), (40, 60)))
    ]
    _record_accuracies(stage, counts)


@driver.scenario("types", "반환 타입", check="edges")
def _types(stage: Stage) -> None:
    """Record the type of the returned value, for counts that are tensors."""
    counts = [
        _Counts(torch.tensor(right), torch.tensor(total))
        for right, total in _draw_counts(stage, ((5, 9), (5, 9)))
    ]
    values = _call(stage, counts)
    stage.recorder.returned(values[0])


@driver.scenario("quiet", "화면 출력", check="edges")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    _record_accuracies(stage, _draw_counts(stage, ((5, 9), (5, 9))))
    stage.recorder.fact("print를 부름", yes_or_no(stage.recorder.print_count > 0))
