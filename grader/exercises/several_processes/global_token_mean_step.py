"""Driver of `global_token_mean_step`, which makes one update on ranks that have unequal numbers of valid tokens.

Promises of the exercise, and the scenarios that check them:
    one update, as with one batch of all ranks' valid tokens: `sgd`, `adamw`, `three-ranks`
    a rank may have more micro-batches than another: `more-on-one`
    positions whose target is `ignore_index` do not count, even all of a rank: `padding`, `one-empty`
    the gradients are averaged once a window: `collectives`
    the micro-batches may come from a generator: `generator`
    gradients from before are not mixed in: `before`
    without valid tokens on any rank, every rank refuses and nothing changes: `nothing-valid`
    the return value is the mean loss over all ranks, the same float on each: `returns`, `types`
    the graph of one micro-batch at a time is alive: `memory`

The contract of all exercises adds: modes stay as they are (`modes`), and nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from typing import Any

import torch

from grader.exercises.fixtures.classifiers import (
    Batch,
    MakeOptimizer,
    adamw,
    momentum_sgd,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.language import TOKENS, gpt, token_ids
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import Case, add_usual
from grader.exercises.several_processes._cases import MakeData, RankCase, rank_case
from grader.observe.play import Driver, Env, Stage

driver = Driver("global_token_mean_step", cost=2)  # every call runs a GPT on two or three ranks

_SHAPES = (
    ((3, 4, 10), (2, 3, 2), (4, 4, 12)),
    ((1, 4, 1), (4, 2, 5), (2, 2, 1)),
    ((2, 4, 7), (3, 3, 1), (1, 3, 2)),
)
"""For each rank, samples, length and valid tokens of each micro-batch.

The ranks' numbers of valid tokens differ (24, 7, 10), so that a mean of the ranks' means shows. There are three
micro-batches, because in a shorter window it does not show whether the graphs of all are held.
"""
_PADDING = 3
"""An ordinary token that is used as `ignore_index` in one scenario. Where a program forgets to pass `ignore_index` on,
this token raises no error but changes the loss."""


def _token_batches(
    salt: str = "", ignore_index: int = -100, *, empty: Sequence[int] = (), extra: bool = False
) -> MakeData:
    """Return a function that makes each rank's micro-batches.

    Args:
        salt: decides the tokens.
        ignore_index: target of the positions that do not count.
        empty: ranks without one valid token.
        extra: give rank 1 one micro-batch more than the others.
    """

    def make(env: Env, rank: int) -> list[Batch]:
        shapes = _SHAPES[rank] + (_SHAPES[rank][:1] if extra and rank == 1 else ())
        result = []
        for number, (samples, time, num_valid) in enumerate(shapes):
            name = f"{salt} {rank} {number}"
            inputs = token_ids(env, samples, f"input {name}", time)
            targets = token_ids(env, samples, f"target {name}", time)
            # Only ignored positions may hold `_PADDING`.
            targets = torch.where(targets == _PADDING, TOKENS - 1, targets)
            positions = torch.randperm(samples * time, generator=env.generator(f"valid {name}"))
            ignored = positions[0 if rank in empty else num_valid :]
            targets.view(-1)[ignored] = ignore_index
            result.append((inputs, targets))
        return result

    return make


def _case(
    stage: Stage,
    make_data: MakeData | None = None,
    *,
    ranks: int = 2,
    make_optimizer: MakeOptimizer = sgd,
) -> RankCase:
    """Return a case with a GPT on every rank; without `make_data`, the data of `_token_batches()`."""
    return rank_case(
        stage,
        "global_token_mean_step",
        make_data or _token_batches(),
        ranks=ranks,
        make_model=gpt,
        make_optimizer=make_optimizer,
        gives_group=True,
    )


def _call(case: Case, data: Any) -> Any:
    """Call the learner's function with `data` as rank 0's window."""
    return case.call(data)


def _update(stage: Stage, make_optimizer: MakeOptimizer, *, ranks: int = 2) -> None:
    """Make two calls with the same window, and record the weights of every rank; rates change after each call."""
    case = _case(stage, ranks=ranks, make_optimizer=make_optimizer)
    case.watch()
    for _ in range(2):
        case.call(case.data)
        for case_of_rank in (case, *case.peers):
            scale_rates(case_of_rank.opt, 0.8)
    case.record_weights()


@driver.scenario("sgd", "SGD로 두 번", check="update")
def _sgd(stage: Stage) -> None:
    """Update with SGD. A wrong program takes each rank's own mean, or forgets that DDP averages the ranks."""
    _update(stage, sgd)


@driver.scenario("adamw", "AdamW로 두 번", check="update")
def _adamw(stage: Stage) -> None:
    """Update with AdamW. A wrong program steps after each micro-batch."""
    _update(stage, adamw)


@driver.scenario("three-ranks", "rank 세 개", check="update")
def _three_ranks(stage: Stage) -> None:
    """Update on three ranks. A wrong program multiplies by 2, whatever the number of ranks."""
    _update(stage, sgd, ranks=3)


@driver.scenario("more-on-one", "마이크로 배치가 더 많은 rank", check="update")
def _more_on_one(stage: Stage) -> None:
    """Give rank 1 a micro-batch more. A wrong program averages with each micro-batch, and waits without end."""
    case = _case(stage, _token_batches(extra=True))
    case.watch()
    case.call(case.data)
    case.record_weights()


@driver.scenario("padding", "다른 ignore_index", check="padding")
def _padding(stage: Stage) -> None:
    """Use an ordinary token as `ignore_index`. A wrong program counts with -100, or does not pass it to the loss."""
    case = _case(stage, _token_batches("padded", _PADDING))
    case.watch()
    case.call(case.data, ignore_index=_PADDING)
    case.record_weights()


@driver.scenario("one-empty", "유효한 토큰이 없는 rank", check="padding")
def _one_empty(stage: Stage) -> None:
    """Leave one rank without a valid token. A wrong program refuses there, or divides by zero."""
    case = _case(stage, _token_batches(empty=(1,)))
    case.watch()
    case.call(case.data)
    case.record_weights()


@driver.scenario("nothing-valid", "어느 rank에도 유효한 토큰이 없을 때", check="padding")
def _nothing_valid(stage: Stage) -> None:
    """Leave every rank without a valid token, after a good call. A wrong program updates with momentum."""
    case = _case(stage, make_optimizer=momentum_sgd)
    case.call(case.data)
    stage.recorder.array("첫 번째 뒤의 가중치의 합", [float(weights.sum()) for weights in case.weights()])
    padding = _case(stage, _token_batches(empty=(0, 1)))
    for case_of_rank, padding_of_rank in zip((case, *case.peers), (padding, *padding.peers), strict=True):
        case_of_rank.data = padding_of_rank.data
    case.record_refusal("유효한 토큰이 없을 때 거절한 rank", case.data)


@driver.scenario("collectives", "그레이디언트를 합친 횟수", check="once")
def _collectives(stage: Stage) -> None:
    """Count how often the gradients are averaged, in a drawn number of windows.

    A wrong program averages with each micro-batch; its weights may be right all the same.
    """
    case = _case(stage)
    for _ in range(stage.env.draw("windows").whole(2, 4)):
        case.call(case.data)
    case.record_averages()


add_usual(driver, _case, _call, checks={"generator": "edges", "before": "edges"})


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record what every rank returns. A wrong program returns its own mean, or the mean of the means."""
    case = _case(stage, ranks=3)
    for value in case.call_all(case.data):
        stage.recorder.returned(value)


add_usual(driver, _case, _call, checks={"types": "returns", "modes": "returns", "quiet": "returns"})
add_usual(driver, _case, _call, checks={"memory": "memory"})
