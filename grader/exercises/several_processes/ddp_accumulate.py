"""Driver of `ddp_accumulate`, which accumulates micro-batches on every rank and averages once.

Promises of the exercise, and the scenarios that check them:
    one update, as with one batch of all ranks' micro-batches: `sgd`, `adamw`, `three-ranks`
    the gradients are averaged once a window: `collectives`
    the averaged gradients are clipped once: `clip`, `no-clip`
    gradients from before are not mixed in: `before`
    the micro-batches may come from a generator: `generator`
    a window without micro-batches is refused and changes nothing: `nothing`
    the return value is this rank's mean loss, a float: `returns`, `types`
    the graph of one micro-batch at a time is alive: `memory`

The contract of all exercises adds: modes stay as they are (`modes`), and nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from typing import Any

from grader.exercises.fixtures.classifiers import (
    CLIP_ATOL,
    MakeOptimizer,
    adamw,
    loss_function,
    momentum_sgd,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import Case, add_usual
from grader.exercises.several_processes._cases import (
    NoBatches,
    RankCase,
    equal_batches,
    rank_case,
    windows_of,
)
from grader.observe.play import Driver, Stage

driver = Driver("ddp_accumulate", cost=2)  # every call runs on two or three ranks

_WINDOW = 3
"""Micro-batches in a window. From three on, it shows if a whole window's graphs are held."""


def _case(stage: Stage, *, windows: int = 1, ranks: int = 2, make_optimizer: MakeOptimizer = sgd) -> RankCase:
    """Return a case in which each rank has an equal model, and data of its own for `windows` windows."""
    return rank_case(
        stage,
        "ddp_accumulate",
        equal_batches(windows * _WINDOW),
        ranks=ranks,
        make_optimizer=make_optimizer,
        loss_fn=loss_function(stage.env),
    )


def _call(case: Case, data: Any) -> Any:
    """Call the learner's function with `data` as one window."""
    return case.call(data)


def _update(stage: Stage, make_optimizer: MakeOptimizer, *, ranks: int = 2, **kwargs: Any) -> None:
    """Make one call for each of two windows, and record the weights of every rank; rates change after each call."""
    case = _case(stage, windows=2, ranks=ranks, make_optimizer=make_optimizer)
    case.watch()
    for window in windows_of(case.data, _WINDOW):
        case.call(window, **kwargs)
        for case_of_rank in (case, *case.peers):
            scale_rates(case_of_rank.opt, 0.8)
    case.record_weights()


@driver.scenario("sgd", "SGD로 두 구간", check="update")
def _sgd(stage: Stage) -> None:
    """Update on two windows. A wrong program forgets to divide, or never averages over the ranks."""
    _update(stage, sgd)


@driver.scenario("adamw", "AdamW로 두 구간", check="update")
def _adamw(stage: Stage) -> None:
    """Update with AdamW. A wrong program steps after each micro-batch, or keeps the gradients of the window before."""
    _update(stage, adamw)


@driver.scenario("three-ranks", "rank 세 개", check="update")
def _three_ranks(stage: Stage) -> None:
    """Update on three ranks. A wrong program divides by 2, whatever the number of ranks."""
    _update(stage, sgd, ranks=3)


@driver.scenario("collectives", "집합 통신의 횟수", check="once")
def _collectives(stage: Stage) -> None:
    """Count the collectives in a drawn number of windows. A wrong program averages with each micro-batch.

    Its weights may be right all the same, so only counting finds it: to average again what is averaged changes nothing.
    """
    case = _case(stage, windows=stage.env.draw("windows").whole(2, 4))
    for window in windows_of(case.data, _WINDOW):
        case.call(window)
    case.record_collectives()


@driver.scenario("clip", "클리핑", check="clip", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Clip at a norm that the averaged gradients exceed. A wrong program clips each rank's own gradients, or twice."""
    _update(stage, sgd, max_norm=0.05)


@driver.scenario("no-clip", "넘지 않는 클리핑", check="clip", atol=CLIP_ATOL)
def _no_clip(stage: Stage) -> None:
    """Clip at a norm that is never exceeded. A wrong program scales every gradient to that norm."""
    _update(stage, sgd, max_norm=50.0)


add_usual(driver, _case, _call, checks={"before": "edges", "generator": "edges"})


@driver.scenario("nothing", "마이크로 배치가 없는 구간", check="edges")
def _nothing(stage: Stage) -> None:
    """Call after a good window with an empty list, and with an iterable that is empty but counts as true.

    A wrong program updates with momentum, or returns a number. Or it asks whether the micro-batches count as true, as
    an empty generator does.
    """
    case = _case(stage, make_optimizer=momentum_sgd)
    case.call(case.data)
    stage.recorder.array("첫 구간 뒤의 가중치의 합", [float(weights.sum()) for weights in case.weights()])
    case.record_refusal("마이크로 배치가 없을 때 거절한 rank", [])
    moved = "제너레이터가 비어 있을 때 매개변수가 움직임"
    case.record_refusal("제너레이터가 비어 있을 때 거절한 rank", NoBatches(), moved=moved)


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record what every rank returns. A wrong program returns the sum, the last loss, or a part of it."""
    case = _case(stage)
    for value in case.call_all(case.data):
        stage.recorder.returned(value)


add_usual(driver, _case, _call, checks={"types": "returns", "modes": "returns", "quiet": "returns"})
add_usual(driver, _case, _call, checks={"memory": "memory"})
