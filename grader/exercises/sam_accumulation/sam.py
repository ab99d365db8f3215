"""Driver of `SAM`: single first steps, whole updates over several base optimizers, and what an Optimizer promises.

Both halves are looked at, because one that is right can hide that the other is wrong: the length and direction of
e right after `first_step`, and the weights after `second_step`.
"""

import copy
import warnings
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from grader.exercises.sam_accumulation._flat_weights import flat_weights
from grader.exercises.sam_accumulation._watched_sam import WatchedSAM, sam_batches
from grader.observe.fixtures.classifiers import Batch, loss_function, mlp, scale_rates, two_groups
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("SAM")

SAM_ATOL = 1e-7
"""A SAM that takes the norm in float32, whatever the dtype of the weights, is right too. Its relative error of 6e-8
is worth 1e-8 in the weights at the radius used here."""

RATIO_ATOL = 1e-6
"""The same norm in float32, seen in ||e|| / rho itself."""

_RHO = 0.2
"""Large beside weights of about 0.6: what is measured at w and at w + e must differ plainly."""


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), sam_batches(env), loss_function(env))


def _uphill(parameter: Tensor, *, adaptive: bool) -> Tensor:
    assert parameter.grad is not None
    gradient = parameter.grad.clone()
    return ((parameter.detach() ** 2 * gradient) if adaptive else gradient).ravel()


def _climbs(stage: Stage, *, adaptive: bool) -> None:
    """How far and in which direction `first_step` goes, over one group and over two."""
    env = stage.env
    e_norms, cosines, moves = [], [], []
    for number, rho in enumerate((_RHO, 0.05)):
        model = mlp(env, f"model {number}")
        groups: Any = model.parameters() if number == 0 else two_groups(model, (0.3, 0.2))
        extra = {"adaptive": True} if adaptive else {}
        watched = WatchedSAM(stage, model, groups, torch.optim.SGD, watch=False, rho=rho, lr=0.3, **extra)
        watched.gradients(sam_batches(env)[number])
        direction = torch.cat([_uphill(p, adaptive=adaptive) for p in model.parameters()])
        before = flat_weights(model)
        stage.recorder.call(watched.sam.first_step)
        moved = flat_weights(model) - before
        length = moved.norm() if not adaptive else (moved / before.abs()).norm()
        e_norms.append(length / rho)
        cosines.append(moved @ direction / (moved.norm() * direction.norm()))
        moves.append(moved)
    # Compared in the order of their names: direction, length, then element by element.
    stage.recorder.array("cos(e, w²·g)" if adaptive else "cos(e, g)", torch.stack(cosines))
    stage.recorder.array("‖e/|w|‖ ÷ ρ" if adaptive else "‖e‖ ÷ ρ", torch.stack(e_norms))
    stage.recorder.array("섭동 e", torch.stack(moves))


def _trajectory(stage: Stage, kind: type[Optimizer], **kwargs: Any) -> None:
    """Two parameter groups, a moving rate set through the SAM's own groups, batches of different sizes."""
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, two_groups(model, (0.3, 0.2)), kind, rho=_RHO, **kwargs)
    for batch in sam_batches(stage.env)[:4]:
        watched.update(batch)
        scale_rates(watched.sam, 0.8)


@driver.scenario("climbs", "first_step", atol=RATIO_ATOL)
def _climbs_plain(stage: Stage) -> None:
    _climbs(stage, adaptive=False)


@driver.scenario("sgd", "SGD 위의 SAM", atol=SAM_ATOL, problem=_problem)
def _sgd(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3)


@driver.scenario("momentum", "모멘텀 위의 SAM", atol=SAM_ATOL)
def _momentum(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3, momentum=0.9, weight_decay=0.05)


@driver.scenario("adamw", "AdamW 위의 SAM", check="momentum", atol=SAM_ATOL)
def _adamw(stage: Stage) -> None:
    """One group from a generator, and the radius left at its default."""
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, model.parameters(), torch.optim.AdamW, lr=0.02, weight_decay=0.05)
    for batch in sam_batches(stage.env)[:4]:
        watched.update(batch)
        scale_rates(watched.sam, 0.8)


@driver.scenario("adaptive-climbs", "adaptive=True의 first_step", atol=RATIO_ATOL)
def _climbs_adaptive(stage: Stage) -> None:
    _climbs(stage, adaptive=True)


@driver.scenario("adaptive", "SGD 위의 ASAM", check="adaptive-climbs", atol=SAM_ATOL)
def _adaptive(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3, adaptive=True)


@driver.scenario("none", "그레이디언트가 None인 매개변수", atol=SAM_ATOL)
def _missing_gradients(stage: Stage) -> None:
    """One tensor has a gradient in the first pass only, another one in the second pass only.

    The third update leaves out another tensor than the first two: what `first_step` remembered in an earlier update
    must not come back.
    """
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3)
    parameters = list(model.parameters())

    def update(batch: Batch, first: int, second: int) -> None:
        watched.gradients(batch)
        parameters[first].grad = None
        watched.sam.first_step()
        watched.gradients(batch)
        parameters[second].grad = None
        watched.sam.second_step()

    for batch, missing in zip(sam_batches(stage.env), ((1, 2), (1, 2), (0, 2)), strict=False):
        watched.recorder.call(update, batch, *missing)


@driver.scenario("zero", "그레이디언트가 모두 0일 때", check="none", atol=SAM_ATOL)
def _zero_gradients(stage: Stage) -> None:
    """All gradients zero in the first pass: the weights stay, and the second pass steps from them. For SAM and ASAM."""
    recorder = stage.recorder
    for name, extra in (("", {}), ("ASAM이 ", {"adaptive": True})):
        model = mlp(stage.env)
        watched = WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3, **extra)
        before = flat_weights(model)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        recorder.call(watched.sam.first_step)
        recorder.array(f"{name}움직인 거리", (flat_weights(model) - before).norm().reshape(1))
        watched.gradients(sam_batches(stage.env)[0])
        recorder.call(watched.sam.second_step)


@driver.scenario("schedulers", "SAM과 base 옵티마이저에 건 스케줄러", atol=SAM_ATOL)
def _schedulers(stage: Stage) -> None:
    """A scheduler on the SAM object, then (over another model) one on its base optimizer."""
    for number in range(2):
        model = mlp(stage.env, f"model {number}")
        watched = WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch counts calls of `sam.step()`, which nobody makes here
            over = watched.sam if number == 0 else watched.base or watched.sam
            scheduler = torch.optim.lr_scheduler.ExponentialLR(over, 0.5)
            for batch in sam_batches(stage.env)[:3]:
                watched.update(batch)
                scheduler.step()


@driver.scenario("resumes", "state_dict로 이어서 학습하기", atol=SAM_ATOL)
def _resumes(stage: Stage) -> None:
    """Three updates, the state carried over to a new SAM over a new model, three more."""
    settings: list[tuple[type[Optimizer], dict[str, Any]]] = [
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.AdamW, {"weight_decay": 0.05}),
    ]
    for number, (kind, kwargs) in enumerate(settings):
        data = sam_batches(stage.env)
        model = mlp(stage.env, f"model {number}")
        first = WatchedSAM(stage, model, two_groups(model, (0.03, 0.02)), kind, rho=_RHO, lr=0.03, **kwargs)
        for batch in data[:3]:
            first.update(batch)
            scale_rates(first.sam, 0.8)
        # As a file would hold it: untouched by whatever happens to the first one.
        saved = copy.deepcopy(stage.recorder.call(first.sam.state_dict))
        resumed = copy.deepcopy(model)
        groups = two_groups(resumed, (0.01, 0.01))
        second = WatchedSAM(stage, resumed, groups, kind, rho=_RHO, lr=0.01, **kwargs)
        stage.recorder.call(second.sam.load_state_dict, saved)
        for batch in data[3:]:
            second.update(batch)
            scale_rates(second.sam, 0.8)


@driver.scenario("promises", "rho와 zero_grad", atol=SAM_ATOL)
def _promises(stage: Stage) -> None:
    """What kind of thing it is, which radii it takes, and what `zero_grad` does."""
    env, recorder = stage.env, stage.recorder
    make, model = stage.student("SAM"), mlp(env)
    parameters = list(model.parameters())
    for rho in (-0.1, -1e-9):
        recorder.expect(ValueError, f"rho={rho}", make, parameters, torch.optim.SGD, rho=rho, lr=0.3)
    recorder.expect(ValueError, "rho=0.0", make, parameters, torch.optim.SGD, rho=0.0, lr=0.3)
    watched = WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3)
    sam = watched.sam
    recorder.fact("torch.optim.Optimizer인가", isinstance(sam, Optimizer))
    for flags in ({}, {"zero_grad": False}, {"zero_grad": True}):
        for name, step in (("first_step", sam.first_step), ("second_step", sam.second_step)):
            watched.gradients(sam_batches(env)[0])
            recorder.call(step, **flags)
            asked = "".join(f"{key}={value}" for key, value in flags.items())
            recorder.fact(f"{name}({asked}) 뒤에 그레이디언트가 남음", recorder.gradients_left())
