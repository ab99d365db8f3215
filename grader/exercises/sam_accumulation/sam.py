"""Driver of `SAM`, an optimizer that climbs to w + e in `first_step`, and returns to w and steps in `second_step`.

Both halves are judged separately, because one that is right can hide that the other is wrong: the length and direction
of e right after `first_step`; and the result of `second_step`, on gradients that do not depend on the weights. Other
scenarios isolate missing or zero gradients, and what an Optimizer promises (schedulers, saving and loading, arguments).
Whole updates, where everything acts together, decide a check of their own.
"""

import copy
import warnings
from contextlib import suppress
from typing import Any

import torch
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import (
    FLOAT32_UPDATES_ATOL,
    distance_moved,
    flat_gradients,
    flat_weights,
    mlp,
    pull,
    scale_rates,
    two_groups,
)
from grader.exercises.sam_accumulation._climbing import record_climbs
from grader.exercises.sam_accumulation._resuming import (
    RHO,
    SETTINGS,
    resume_in_new_sam,
    sam_with_state,
    state_to_load,
    tell_carried,
)
from grader.exercises.sam_accumulation._watched_sam import GivenGradients, WatchedSAM, sam_batches
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("SAM")

SAM_ATOL = 1e-7
"""Absolute tolerance of weights. A SAM that takes the norm in float32, whatever the dtype of the weights, is right too.
The norm's relative error of 6e-8 amounts to 1e-8 in the weights at the radius used here.
"""

RATIO_ATOL = 1e-6
"""Absolute tolerance of ||e|| / rho, which has the relative error of a norm in float32, too."""


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), sam_batches(env), lambda outputs, _: pull(outputs))


# ---- climbing ------------------------------------------------------------------------------------


@driver.scenario("climbs", "first_step", atol=RATIO_ATOL)
def _climbs_plain(stage: Stage) -> None:
    record_climbs(stage, adaptive=False)


@driver.scenario("adaptive-climbs", "adaptive=True의 first_step", atol=RATIO_ATOL)
def _climbs_adaptive(stage: Stage) -> None:
    record_climbs(stage, adaptive=True)


# ---- coming back and stepping --------------------------------------------------------------------


def _comes_back(stage: Stage, kind: type[Optimizer], **kwargs: Any) -> None:
    """Make three updates on given gradients; those of the second update's second step are large."""
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, two_groups(model, (0.03, 0.02)), kind, rho=RHO, **kwargs)
    given = GivenGradients(stage.env, model)
    for scale in (1.0, 20.0, 1.0):
        watched.update_on(given.next(), given.next(scale=scale))


@driver.scenario("sgd", "주어진 그레이디언트로 하는 second_step", atol=SAM_ATOL)
def _comes_back_sgd(stage: Stage) -> None:
    _comes_back(stage, torch.optim.SGD, lr=0.03)


@driver.scenario("momentum", "모멘텀 위의 second_step", atol=SAM_ATOL)
def _momentum(stage: Stage) -> None:
    _comes_back(stage, torch.optim.SGD, lr=0.03, momentum=0.9, weight_decay=0.05)


@driver.scenario("adamw", "AdamW 위의 second_step", check="momentum", atol=SAM_ATOL)
def _adamw(stage: Stage) -> None:
    """The parameters come as a generator, and the radius keeps its default."""
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, model.parameters(), torch.optim.AdamW, lr=0.02, weight_decay=0.05)
    given = GivenGradients(stage.env, model)
    for _ in range(3):
        watched.update_on(given.next(), given.next())


# ---- whole updates -------------------------------------------------------------------------------


def _trajectory(stage: Stage, kind: type[Optimizer], **kwargs: Any) -> None:
    """Make updates with two groups, a rate set through the SAM's own groups, and batches of different sizes."""
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, two_groups(model, (0.3, 0.2)), kind, rho=RHO, **kwargs)
    for batch in sam_batches(stage.env)[:3]:
        watched.update(batch)
        scale_rates(watched.sam, 0.8)
    trainable = all(p.is_leaf and p.requires_grad for p in model.parameters())
    stage.recorder.fact("모든 매개변수가 학습되는 잎 텐서임", trainable)


@driver.scenario("together", "SGD 위의 SAM", atol=SAM_ATOL, problem=_problem)
def _together(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3)


@driver.scenario("adaptive", "모멘텀 위의 ASAM", check="together", atol=SAM_ATOL)
def _adaptive(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3, momentum=0.9, adaptive=True)


@driver.scenario("float32", "float32 모델 위의 SAM", check="together", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there."""
    model = mlp(stage.env).float()
    watched = WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, rho=RHO, lr=0.3)
    for xb, yb in sam_batches(stage.env)[:2]:
        watched.update((xb.float(), yb))


# ---- gradients that are None or zero -------------------------------------------------------------


def _sam_over_sgd(stage: Stage, *, watch: bool = True, **extra: Any) -> WatchedSAM:
    model = mlp(stage.env)
    kwargs = {"rho": RHO, "lr": 0.03, **extra}
    return WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, watch=watch, **kwargs)


def _missing(stage: Stage, rounds: tuple[tuple[int | None, int | None], ...]) -> None:
    """Make an update on given gradients for each pair in `rounds`.

    A pair says which parameter has no gradient in the first pass, and which in the second; None for none.
    """
    watched = _sam_over_sgd(stage)
    given = GivenGradients(stage.env, watched.model)
    for first, second in rounds:
        watched.update_on(given.next(without=first), given.next(without=second))


@driver.scenario("none", "첫 번째 그레이디언트가 None인 매개변수", atol=SAM_ATOL)
def _missing_first(stage: Stage) -> None:
    """The third update leaves out another parameter than the first two.

    What `first_step` remembered in an earlier update must not come back.
    """
    _missing(stage, ((1, None), (1, None), (0, None)))


@driver.scenario("none-second", "두 번째 그레이디언트가 None인 매개변수", check="none", atol=SAM_ATOL)
def _missing_second(stage: Stage) -> None:
    _missing(stage, ((None, 2), (None, 0)))


@driver.scenario("none-climbs", "그레이디언트가 None인 매개변수의 first_step", check="none", atol=SAM_ATOL)
def _missing_climbs(stage: Stage) -> None:
    """A parameter without a gradient must stay where it is, whatever the others do."""
    watched = _sam_over_sgd(stage, watch=False)
    watched.set_gradients(GivenGradients(stage.env, watched.model).next(without=1))
    before = watched.parameters[1].detach().clone()
    stage.recorder.call(watched.sam.first_step)
    stage.recorder.array("움직인 거리", (watched.parameters[1].detach() - before).norm().reshape(1))


def _zero_gradients(stage: Stage, **extra: Any) -> None:
    """Climb on gradients that are all zero: the weights must stay where they are."""
    watched = _sam_over_sgd(stage, watch=False, **extra)
    before = flat_weights(watched.model)
    watched.set_gradients([torch.zeros_like(p) for p in watched.parameters])
    stage.recorder.call(watched.sam.first_step)
    stage.recorder.array("움직인 거리", distance_moved(watched.model, before))


@driver.scenario("zero", "그레이디언트가 모두 0일 때", check="none", atol=SAM_ATOL)
def _zero(stage: Stage) -> None:
    _zero_gradients(stage)


@driver.scenario("adaptive-zero", "그레이디언트가 모두 0일 때의 ASAM", check="none", atol=SAM_ATOL)
def _zero_adaptive(stage: Stage) -> None:
    _zero_gradients(stage, adaptive=True)


@driver.scenario("zero-later", "업데이트한 다음에 그레이디언트가 모두 0일 때", check="none", atol=SAM_ATOL)
def _zero_later(stage: Stage) -> None:
    """After a normal update, one with zero gradients in the first pass.

    The second pass steps from the current weights: what the earlier update remembered must not come back.
    """
    watched = _sam_over_sgd(stage, watch=False)
    given = GivenGradients(stage.env, watched.model)
    watched.update_on(given.next(), given.next())
    before = flat_weights(watched.model)
    watched.update_on([torch.zeros_like(p) for p in watched.parameters], given.next())
    stage.recorder.array("움직인 거리", distance_moved(watched.model, before))


@driver.scenario("none-later", "업데이트한 다음에 그레이디언트가 모두 None일 때", check="none", atol=SAM_ATOL)
def _none_later(stage: Stage) -> None:
    """After a normal update, one without any gradient in either pass: the weights must stay where they are.

    A program may raise because it finds no gradient.
    """
    watched = _sam_over_sgd(stage, watch=False)
    given = GivenGradients(stage.env, watched.model)
    watched.update_on(given.next(), given.next())
    before = flat_weights(watched.model)
    watched.set_gradients([None] * len(watched.parameters))

    def both_steps() -> None:
        with suppress(Exception):
            watched.sam.first_step()
            watched.sam.second_step()

    stage.recorder.call(both_steps)
    stage.recorder.array("움직인 거리", distance_moved(watched.model, before))


# ---- promises of an Optimizer --------------------------------------------------------------------


def _scheduled(stage: Stage, *, on_sam: bool) -> None:
    """Update with a scheduler over two groups, then over a plain list of parameters.

    Two optimizers that are given the same dicts as groups share these dicts without further code. Two that are given a
    list of parameters do not share their groups.
    """
    for number in range(2):
        model = mlp(stage.env)
        groups: Any = model.parameters() if number else two_groups(model, (0.03, 0.02))
        watched = WatchedSAM(stage, model, groups, torch.optim.SGD, rho=RHO, lr=0.03)
        given = GivenGradients(stage.env, model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch counts calls of `sam.step()`, which nobody makes here
            over = watched.sam if on_sam else watched.base or watched.sam
            scheduler = torch.optim.lr_scheduler.ExponentialLR(over, 0.5)
            for _ in range(3):
                watched.update_on(given.next(), given.next())
                scheduler.step()


@driver.scenario("schedulers", "SAM에 건 스케줄러", atol=SAM_ATOL)
def _scheduler_on_sam(stage: Stage) -> None:
    _scheduled(stage, on_sam=True)


@driver.scenario("scheduler-on-base", "base 옵티마이저에 건 스케줄러", check="schedulers", atol=SAM_ATOL)
def _scheduler_on_base(stage: Stage) -> None:
    """The rates must also change as seen from the SAM: both have the same groups."""
    _scheduled(stage, on_sam=False)


@driver.scenario("saves", "state_dict로 저장하기", check="resumes", atol=SAM_ATOL)
def _saves(stage: Stage) -> None:
    """Every tensor of the base optimizer's state is saved, in whatever shape."""
    for number, (kind, _) in enumerate(SETTINGS):
        first = sam_with_state(stage, number, watch=False)
        saved = stage.recorder.call(first.sam.state_dict)
        stage.recorder.fact(
            f"{kind.__name__}의 상태 텐서마다 저장되었는지", ", ".join(tell_carried(saved, first.base))
        )


@driver.scenario("loads", "load_state_dict로 읽기", check="resumes", atol=SAM_ATOL)
def _loads(stage: Stage) -> None:
    """Every tensor of the saved state arrives in the new base optimizer."""
    for number, (kind, _) in enumerate(SETTINGS):
        first = sam_with_state(stage, number, watch=False)
        second = resume_in_new_sam(stage, first, number, state_to_load(stage, first), watch=False)
        state = {} if second.base is None else dict(enumerate(second.base.state.values()))
        stage.recorder.fact(
            f"{kind.__name__}의 상태 텐서마다 읽혔는지", ", ".join(tell_carried(state, first.base))
        )


@driver.scenario("loads-groups", "읽은 다음의 param_groups", check="resumes", atol=SAM_ATOL)
def _loads_groups(stage: Stage) -> None:
    """Loaded rates are used, and a rate set through the SAM afterwards reaches the base optimizer."""
    first = sam_with_state(stage, 0, watch=False)
    second = resume_in_new_sam(stage, first, 0, state_to_load(stage, first), watch=False)
    base = second.base or second.sam
    stage.recorder.array("읽은 다음의 학습률", [group["lr"] for group in base.param_groups])
    scale_rates(second.sam, 0.5)
    stage.recorder.array("읽고 SAM에서 바꾼 학습률", [group["lr"] for group in base.param_groups])


@driver.scenario("loads-climb", "읽은 다음의 first_step", check="resumes", atol=SAM_ATOL)
def _loads_climb(stage: Stage) -> None:
    """A SAM that loaded a state must climb to the same point as the SAM that saved it; any point is right here.

    Both were made with the same radius. The contract does not say which radius counts if the saved one differs, so a
    SAM may keep its radius in its groups or as an attribute.
    """
    first = sam_with_state(stage, 0, watch=False)
    second = resume_in_new_sam(stage, first, 0, state_to_load(stage, first), watch=False)
    gradients = GivenGradients(stage.env, first.model).next()
    for watched in (first, second):
        watched.set_gradients(gradients)
        stage.recorder.call(watched.sam.first_step)
    apart = flat_weights(second.model) - flat_weights(first.model)
    stage.recorder.array("읽은 SAM과 읽지 않은 SAM이 올라간 곳의 차이", apart.nan_to_num())


@driver.scenario("resumes", "state_dict로 이어서 학습하기", atol=SAM_ATOL)
def _resumes(stage: Stage) -> None:
    """Two updates; the state carried over to a new SAM over a new model; two more updates."""
    for number in range(len(SETTINGS)):
        first = sam_with_state(stage, number, watch=True)
        # A copy, as a file would hold it: untouched by whatever happens to the first SAM.
        saved = copy.deepcopy(stage.recorder.call(first.sam.state_dict))
        second = resume_in_new_sam(stage, first, number, saved, watch=True)
        given = GivenGradients(stage.env, second.model)
        for _ in range(2):
            second.update_on(given.next(), given.next())
            scale_rates(second.sam, 0.8)


@driver.scenario("promises", "음수 rho", atol=SAM_ATOL)
def _negative_rho(stage: Stage) -> None:
    """A negative radius must be refused."""
    parameters = list(mlp(stage.env).parameters())
    for rho in (-0.1, -1e-9):
        stage.recorder.expect(
            ValueError,
            f"`rho={rho}`로 만들었을 때",
            stage.student("SAM"),
            parameters,
            torch.optim.SGD,
            rho=rho,
            lr=0.3,
        )


@driver.scenario("zero-rho", "rho=0", check="promises", atol=SAM_ATOL)
def _zero_rho(stage: Stage) -> None:
    """A radius of zero is allowed: `first_step` then moves nothing."""
    recorder, model = stage.recorder, mlp(stage.env)
    made: list[Any] = []

    def make() -> None:
        made.append(stage.student("SAM")(list(model.parameters()), torch.optim.SGD, rho=0.0, lr=0.3))

    recorder.expect(ValueError, "`rho=0.0`으로 만들었을 때", make)
    before = flat_weights(model)
    for parameter, gradient in zip(model.parameters(), GivenGradients(stage.env, model).next(), strict=True):
        parameter.grad = gradient
    if made:
        recorder.call(made[0].first_step)
    recorder.array("`rho=0.0`의 first_step이 옮긴 거리", distance_moved(model, before))


@driver.scenario("optimizer", "torch.optim.Optimizer", check="promises", atol=SAM_ATOL)
def _is_optimizer(stage: Stage) -> None:
    """The class must be a torch Optimizer, for schedulers and other tools."""
    sam = _sam_over_sgd(stage, watch=False).sam
    stage.recorder.fact("torch.optim.Optimizer인가", isinstance(sam, Optimizer))


def _clearing(stage: Stage, clears: str) -> None:
    """Record whether gradients are left by default, with `zero_grad=False` and with `zero_grad=True`.

    Args:
        stage: the scenario's stage.
        clears: the method that is asked to clear, `first_step` or `second_step`.
    """
    model = mlp(stage.env)
    groups = two_groups(model, (0.03, 0.02))
    watched = WatchedSAM(stage, model, groups, torch.optim.SGD, watch=False, rho=RHO, lr=0.03)
    given = GivenGradients(stage.env, model)
    for flags in ({}, {"zero_grad": False}, {"zero_grad": True}):
        for method in ("first_step", "second_step"):
            watched.set_gradients(given.next())
            asked = flags if method == clears else {}
            stage.recorder.call(getattr(watched.sam, method), **asked)
            if method == clears:
                left = any(p.grad is not None and bool(p.grad.ne(0).any()) for p in watched.parameters)
                arguments = "".join(f"{key}={value}" for key, value in flags.items())
                name = f"`{method}({arguments})` 뒤에 그레이디언트가 남음"
                stage.recorder.claim(name, left, flat_gradients(watched.model))


@driver.scenario("clears-first", "first_step의 zero_grad", check="promises", atol=SAM_ATOL)
def _clears_first(stage: Stage) -> None:
    _clearing(stage, "first_step")


@driver.scenario("clears-second", "second_step의 zero_grad", check="promises", atol=SAM_ATOL)
def _clears_second(stage: Stage) -> None:
    _clearing(stage, "second_step")
