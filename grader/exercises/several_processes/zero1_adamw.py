"""Driver of `Zero1AdamW`, an AdamW whose state is shared among the ranks: each holds that of some parameters only.

Promises of the exercise, and the scenarios that check them:
    every update is that of `torch.optim.AdamW`, and on every rank the same to the bit: `updates`, `defaults`, `tiny`,
        `three-ranks`
    a parameter without gradient stays, and its state with it: `none`
    there may be fewer parameters than ranks: `few`
    each rank holds the state of its own parameters only: `shares`; in fair shares: `turns`, `equal`
    `zero_grad` clears every gradient: `cleared`

The contract of all exercises adds: nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.several_processes._group import groups_of
from grader.exercises.several_processes._ranks import call_on_ranks, several_ranks
from grader.observe.play import Driver, Stage
from grader.observe.wording import yes_or_no

driver = Driver("Zero1AdamW")

_SHAPES = ((4, 3), (4,), (2, 4), (2,), (5,))
"""Shapes of the parameters: 12, 4, 8, 2 and 5 elements."""
_SETTINGS: dict[str, Any] = {"lr": 0.02, "betas": (0.8, 0.97), "eps": 0.1, "weight_decay": 0.1}
"""Arguments of the optimizer, so far from its defaults that each one shows after a few updates."""


class _RankObjects:
    """The objects of one rank: its copy of the parameters and the learner's optimizer."""

    def __init__(self, stage: Stage, shapes: Sequence[tuple[int, ...]]) -> None:
        """Make the parameters, equal on each rank."""
        generator = stage.env.generator("values")
        self.parameters = [
            nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64)) for shape in shapes
        ]
        self.optimizer: Any = None
        """The learner's optimizer; None until the rank has made it."""

    def fill_gradients(
        self, stage: Stage, step: int, without: Sequence[int] = (), scale: float = 1.0
    ) -> None:
        """Give every parameter a gradient that is equal on all ranks, as if averaged.

        Args:
            stage: the scenario's stage.
            step: number of the update; it decides the numbers.
            without: indices of the parameters that get None.
            scale: standard deviation of the elements.
        """
        for number, parameter in enumerate(self.parameters):
            generator = stage.env.generator(f"gradient {step} {number}")
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.grad = None if number in without else scale * noise


def _train(
    stage: Stage,
    *,
    ranks: int = 2,
    shapes: Sequence[tuple[int, ...]] = _SHAPES,
    steps: int = 3,
    without: Sequence[int] = (),
    scale: float = 1.0,
    **settings: Any,
) -> list[_RankObjects]:
    """Make the learner's optimizer on every rank and let it step; return the objects of each rank.

    Args:
        stage: the scenario's stage.
        ranks: number of ranks.
        shapes: shapes of the parameters.
        steps: number of updates.
        without: indices of the parameters that have no gradient in the first update.
        scale: standard deviation of the gradients' elements.
        settings: passed on to the learner's class.
    """
    all_ranks = [_RankObjects(stage, shapes) for _ in range(ranks)]

    def around(number: int, make: Callable[[], Any]) -> None:
        rank = all_ranks[number]
        rank.optimizer = make()
        for step in range(steps):
            rank.fill_gradients(stage, step, without if step == 0 else (), scale)
            rank.optimizer.step()

    with several_ranks(ranks) as world:
        arguments = [
            (iter(rank.parameters), group) for rank, group in zip(all_ranks, groups_of(world), strict=True)
        ]
        call_on_ranks(stage, "Zero1AdamW", arguments, world, around=around, **settings)
    return all_ranks


def _record_parameters(stage: Stage, ranks: Sequence[_RankObjects]) -> None:
    """Record every rank's parameters, and whether they equal those of rank 0 to the last bit."""
    vectors = [torch.cat([p.detach().ravel() for p in rank.parameters]) for rank in ranks]
    for number, vector in enumerate(vectors):
        stage.recorder.array(f"rank {number}의 매개변수", vector)
        stage.recorder.fact(
            f"rank {number}의 매개변수가 rank 0과 같음", yes_or_no(torch.equal(vector, vectors[0]))
        )


@driver.scenario("updates", "세 번의 업데이트", check="update")
def _updates(stage: Stage) -> None:
    """Update three times on two ranks. A wrong program does not send its parameters, or ignores a setting."""
    _record_parameters(stage, _train(stage, **_SETTINGS))


@driver.scenario("defaults", "기본값", check="update")
def _defaults(stage: Stage) -> None:
    """Update with the default arguments. A wrong program has other defaults."""
    _record_parameters(stage, _train(stage))


@driver.scenario("tiny", "아주 작은 그레이디언트와 기본값", check="update")
def _tiny(stage: Stage) -> None:
    """Update with the default arguments and gradients as small as the default `eps`, which shows only then."""
    _record_parameters(stage, _train(stage, scale=1e-8))


@driver.scenario("three-ranks", "rank 세 개", check="update")
def _three_ranks(stage: Stage) -> None:
    """Update on three ranks. A wrong program shares the state among two ranks only."""
    _record_parameters(stage, _train(stage, ranks=3, **_SETTINGS))


@driver.scenario("none", "그레이디언트가 없는 매개변수", check="edges")
def _none(stage: Stage) -> None:
    """Leave two parameters without gradient in the first update. A wrong program decays them, or counts that update."""
    _record_parameters(stage, _train(stage, without=(0, 3), **_SETTINGS))


@driver.scenario("few", "rank보다 적은 매개변수", check="edges")
def _few(stage: Stage) -> None:
    """Share two parameters among three ranks. A wrong program fails where a rank has none, or has no state there."""
    ranks = _train(stage, ranks=3, shapes=_SHAPES[:2], **_SETTINGS)
    _record_parameters(stage, ranks)
    stage.recorder.fact("상태가 있는 매개변수", sum(len(rank.optimizer.state) for rank in ranks))


def _record_shares(stage: Stage, shapes: Sequence[tuple[int, ...]]) -> None:
    """Record whether each rank holds no more than a fair share of the state, and what else it holds.

    Record, too, which parameters' state is on some rank. The witness that the optimizer did something is the first
    element of each of them, on the rank that holds its state. Whether the other ranks have the same parameters is
    judged by other scenarios.
    """
    ranks = _train(stage, shapes=shapes, **_SETTINGS)
    sizes = [p.numel() for p in ranks[0].parameters]
    # No rank has to hold more: who gives each parameter to the rank that has least so far stays below this.
    fair_size = sum(sizes) / len(ranks) + max(sizes)
    held: list[tuple[int, _RankObjects]] = []
    for number, rank in enumerate(ranks):
        state = rank.optimizer.state
        owned = [index for index, p in enumerate(rank.parameters) if _has_moments(state.get(p), p)]
        held += [(index, rank) for index in owned]
        owned_size = sum(sizes[index] for index in owned)
        stage.recorder.fact(
            f"rank {number}의 m이 (전체의 절반 + 가장 큰 매개변수)를 넘음", yes_or_no(owned_size > fair_size)
        )
        stage.recorder.fact(f"rank {number}의 상태에 다른 것이 듦", yes_or_no(len(state) > len(owned)))
    held.sort(key=itemgetter(0))
    stage.recorder.fact("상태가 어느 한 rank에 있는 매개변수", [index for index, _ in held])
    updated = [rank.parameters[index].detach().ravel()[0] for index, rank in held]
    stage.recorder.array("업데이트된 첫 원소", [float(element) for element in updated])


@driver.scenario("shares", "rank마다 가진 상태", check="state")
def _shares(stage: Stage) -> None:
    """Record who holds the state. A wrong program keeps all state everywhere, or all of it on rank 0."""
    _record_shares(stage, _SHAPES)


@driver.scenario("turns", "큰 것과 작은 것이 번갈아 있는 매개변수", check="state")
def _turns(stage: Stage) -> None:
    """Record who holds the state of parameters that are large and small by turns, as weights and biases are.

    A wrong program deals them out by turns, and one rank gets all large ones. One that deals by turns in the order of
    size, and then gives the places to the parameters as they come, shows because the large ones come first.
    """
    _record_shares(stage, (*((4, 3), (1,)) * 5, *((1, 2), (1,)) * 5))


@driver.scenario("equal", "크기가 같은 매개변수 여섯 개", check="state")
def _equal(stage: Stage) -> None:
    """Record who holds the state of six parameters of equal size.

    A wrong program compares the ranks by their last parameter instead of by the sum, and rank 0 gets nearly all.
    """
    _record_shares(stage, ((2, 3),) * 6)


def _has_moments(state: Any, parameter: Tensor) -> bool:
    """Return True if `state` holds both of AdamW's moments of the parameter."""
    return isinstance(state, dict) and all(
        isinstance(state.get(key), Tensor) and state[key].shape == parameter.shape
        for key in ("exp_avg", "exp_avg_sq")
    )


@driver.scenario("cleared", "zero_grad", check="edges")
def _cleared(stage: Stage) -> None:
    """Clear the gradients. A wrong program clears those of its own parameters only, or fills them with zeros."""
    ranks = _train(stage, **_SETTINGS)
    for rank in ranks:
        stage.recorder.call(rank.optimizer.zero_grad)
    # Counts, not the ranks themselves, because which rank owns which parameter is up to the learner.
    left = [[p.grad is not None for p in rank.parameters] for rank in ranks]
    stage.recorder.fact(
        "매개변수마다 `.grad`가 남은 rank의 수", [sum(column) for column in zip(*left, strict=True)]
    )
    stage.recorder.array("업데이트된 첫 원소", [float(p.detach().ravel()[0]) for p in ranks[0].parameters])


@driver.scenario("quiet", "화면 출력", check="edges")
def _quiet(stage: Stage) -> None:
    """Record whether anything is printed."""
    _record_parameters(stage, _train(stage, steps=1, **_SETTINGS))
    stage.recorder.fact("print를 부름", yes_or_no(stage.recorder.print_count > 0))
