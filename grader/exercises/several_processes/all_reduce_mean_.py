"""Driver of `all_reduce_mean_`, which replaces every gradient by its mean over the ranks.

Promises of the exercise, and the scenarios that check them:
    every rank's `.grad` becomes the mean: `two-ranks`, `three-ranks`, `generator`
    a rank whose `.grad` is None takes part with zeros: `none-on-one`
    None on every rank becomes zeros: `none-on-all`
    parameters that need no gradient are passed over: `frozen`, `frozen-with-gradient`
    dtype and parameters stay as they are: `dtypes`, `parameters`

The contract of all exercises adds: nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import flat_weights
from grader.exercises.several_processes._group import groups_of
from grader.exercises.several_processes._ranks import call_on_ranks, several_ranks
from grader.observe.play import Driver, Stage
from grader.observe.wording import yes_or_no

driver = Driver("all_reduce_mean_")

_Parameters = list[nn.Parameter]
"""The parameters of one rank."""
_Change = Callable[[list[_Parameters]], None]
"""Changes the parameters of all ranks before the call."""


def _parameters(stage: Stage, size: int) -> list[_Parameters]:
    """Return parameters of three shapes for each rank: equal values, and gradients of the rank's own."""
    ranks = []
    for rank in range(size):
        values, gradients = stage.env.generator("values"), stage.env.generator(f"gradients {rank}")
        parameters = []
        for shape in ((3, 2), (4,), (1, 5)):
            parameter = nn.Parameter(torch.randn(shape, generator=values, dtype=torch.float64))
            parameter.grad = torch.randn(shape, generator=gradients, dtype=torch.float64)
            parameters.append(parameter)
        ranks.append(parameters)
    return ranks


def _call(
    stage: Stage, ranks: list[_Parameters], as_argument: Callable[[_Parameters], Iterable[Tensor]] = list
) -> None:
    """Call the learner's function on every rank with that rank's parameters.

    Args:
        stage: the scenario's stage.
        ranks: the parameters of each rank.
        as_argument: turns a rank's parameters into the function's argument; by default a list.
    """
    with several_ranks(len(ranks)) as world:
        arguments = [
            (as_argument(parameters), group)
            for parameters, group in zip(ranks, groups_of(world), strict=True)
        ]
        call_on_ranks(stage, "all_reduce_mean_", arguments, world)


def _record_gradients(stage: Stage, ranks: list[_Parameters]) -> None:
    """Record every rank's gradients: for each parameter whether `.grad` is None, and the numbers, zeros for None.

    Both have one name, so that a card tells first which gradient is None and should not be, or the reverse
    (`compare_runs.find_difference`).
    """
    for rank, parameters in enumerate(ranks):
        values = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        vector = torch.cat([value.detach().double().ravel() for value in values])
        kinds = ["None" if p.grad is None else "텐서" for p in parameters]
        stage.recorder.claim(f"rank {rank}의 그레이디언트", [*kinds], vector)


def _call_and_record(stage: Stage, size: int, change: _Change = lambda _: None) -> None:
    """Call the learner's function on `size` ranks, and record every rank's gradients.

    Args:
        stage: the scenario's stage.
        size: number of ranks.
        change: changes the parameters before the call; by default nothing.
    """
    ranks = _parameters(stage, size)
    change(ranks)
    _call(stage, ranks)
    _record_gradients(stage, ranks)


@driver.scenario("two-ranks", "rank 두 개", check="mean")
def _two_ranks(stage: Stage) -> None:
    """Average over two ranks. A wrong program leaves the sum, or changes the gradient of one rank only."""
    _call_and_record(stage, 2)


@driver.scenario("three-ranks", "rank 세 개", check="mean")
def _three_ranks(stage: Stage) -> None:
    """Average over three ranks. A wrong program divides by 2, whatever the number of ranks."""
    _call_and_record(stage, 3)


@driver.scenario("generator", "제너레이터로 받은 매개변수", check="mean")
def _generator(stage: Stage) -> None:
    """Pass an iterator, as `model.parameters()` returns one. A wrong program goes over it twice."""
    ranks = _parameters(stage, 2)
    _call(stage, ranks, iter)
    _record_gradients(stage, ranks)


@driver.scenario("none-on-one", "한 rank에서만 None인 그레이디언트", check="none")
def _none_on_one(stage: Stage) -> None:
    """Take one gradient away on one rank. A wrong program skips it there, and the other rank waits without end."""

    def change(ranks: list[_Parameters]) -> None:
        ranks[1][2].grad = None

    _call_and_record(stage, 2, change)


@driver.scenario("none-on-all", "모든 rank에서 None인 그레이디언트", check="none")
def _none_on_all(stage: Stage) -> None:
    """Take one gradient away on every rank. A wrong program leaves it None."""

    def change(ranks: list[_Parameters]) -> None:
        for parameters in ranks:
            parameters[1].grad = None

    _call_and_record(stage, 2, change)


@driver.scenario("frozen", "requires_grad가 False인 매개변수", check="none")
def _frozen(stage: Stage) -> None:
    """Freeze on every rank one parameter that has no gradient. A wrong program gives it a gradient."""

    def change(ranks: list[_Parameters]) -> None:
        for parameters in ranks:
            parameters[0].requires_grad_(False)
            parameters[0].grad = None

    _call_and_record(stage, 2, change)


@driver.scenario("frozen-with-gradient", "얼린 매개변수에 남아 있는 그레이디언트", check="none")
def _frozen_with_gradient(stage: Stage) -> None:
    """Freeze on every rank one parameter that has a gradient. A wrong program averages that gradient."""

    def change(ranks: list[_Parameters]) -> None:
        for parameters in ranks:
            parameters[0].requires_grad_(False)

    _call_and_record(stage, 2, change)


@driver.scenario("dtypes", "float32와 float64가 섞인 매개변수", check="kept", atol=1e-6)
def _dtypes(stage: Stage) -> None:
    """Make the first parameter float32. A wrong program joins all gradients in one tensor, and so gives all one dtype.

    Another one joins them in the dtype of the first, and so rounds the means of the others. Tolerance: the gradient of
    that parameter is float32 (rounding 1e-7).
    """
    ranks = _parameters(stage, 2)
    for parameters in ranks:
        gradient = parameters[0].grad
        parameters[0] = nn.Parameter(parameters[0].detach().float())
        parameters[0].grad = None if gradient is None else gradient.float()
    _call(stage, ranks)
    _record_gradients(stage, ranks)
    for rank, parameters in enumerate(ranks):
        names = [str(None if p.grad is None else p.grad.dtype).removeprefix("torch.") for p in parameters]
        stage.recorder.fact(f"rank {rank}의 그레이디언트의 dtype", [*names])
        is_rounded = any(p.grad is not None and torch.equal(p.grad, p.grad.float()) for p in parameters[1:])
        stage.recorder.fact(f"rank {rank}의 float64 그레이디언트가 float32로 반올림됨", yes_or_no(is_rounded))


@driver.scenario("parameters", "매개변수의 값", check="kept")
def _parameters_stay(stage: Stage) -> None:
    """Record whether the parameters, which differ between the ranks here, keep their values.

    A wrong program averages them, too. The witness is a gradient from before the call; zeros if it did not change.
    """
    ranks = _parameters(stage, 2)
    with torch.no_grad():
        ranks[1][0].add_(1.0)
    before = [flat_weights(nn.ParameterList(parameters)) for parameters in ranks]
    _call(stage, ranks)
    for rank, parameters in enumerate(ranks):
        is_same = torch.equal(flat_weights(nn.ParameterList(parameters)), before[rank])
        witness = _first_gradient_if_changed(stage, parameters, rank)
        stage.recorder.claim(f"rank {rank}의 매개변수가 그대로", yes_or_no(is_same), witness)


def _first_gradient_if_changed(stage: Stage, parameters: _Parameters, rank: int) -> Tensor:
    """Return the first gradient that a rank was given if the call changed it, else zeros."""
    gradient_before = _parameters(stage, 2)[rank][0].grad
    gradient = parameters[0].grad
    assert gradient_before is not None
    has_changed = gradient is not None and not torch.equal(gradient, gradient_before)
    return gradient_before * float(has_changed)


@driver.scenario("quiet", "화면 출력", check="kept")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    _call(stage, _parameters(stage, 2))
    stage.recorder.fact("print를 부름", yes_or_no(stage.recorder.print_count > 0))
