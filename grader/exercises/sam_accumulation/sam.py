"""Driver of `SAM`, an optimizer that climbs to w + e in `first_step`, and returns to w and steps in `second_step`.

Promises of the exercise, and the scenarios that check them:
    `first_step` climbs by e, of length rho and uphill: `climbs`; as ASAM does: `adaptive-climbs`
    `second_step` goes back to w and lets the base optimizer step: `sgd`, `momentum`, `adamw`
    parameters without a gradient stay, and zero gradients move nothing: `none`, `none-second`, `none-climbs`, `zero`,
        `adaptive-zero`, `zero-later`, `none-later`
    the base optimizer's state is saved and loaded: `saves`, `loads`, `loads-groups`, `loads-climb`, `resumes`
    a negative rho is refused, zero is not: `promises`, `zero-rho`
    `zero_grad=True` clears the gradients after their use: `clears-first`, `clears-second`; the order: `together`
    it is an Optimizer that shares its groups with the base optimizer: `optimizer`, `schedulers`, `scheduler-on-base`

The halves of an update are judged separately, because a right half can hide that the other one is wrong: the climb by
what `first_step` does to the weights, and the step with gradients that do not depend on the weights. Whole updates,
where everything acts together, decide a check of their own: `together`, `adaptive`, `float32`. The scenarios whose
gradients are None or zero are in `_missing_gradients.py`.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import copy
import warnings
from typing import Any

import torch
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import (
    FLOAT32_UPDATES_ATOL,
    distance_moved,
    fixture_loss,
    flat_gradients,
    flat_weights,
    mlp,
    scale_rates,
    two_groups,
)
from grader.exercises.sam_accumulation._climbing import record_climbs
from grader.exercises.sam_accumulation._missing_gradients import add_missing_gradient_scenarios
from grader.exercises.sam_accumulation._resuming import (
    STATEFUL_BASES,
    resume_in_new_sam,
    sam_with_state,
    state_tensor_presence,
    state_to_load,
)
from grader.exercises.sam_accumulation._watched_sam import (
    RHO,
    RandomGradients,
    WatchedSAM,
    sam_batches,
    sam_over_sgd,
)
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("SAM")

_WEIGHTS_ATOL = 1e-7
"""Absolute tolerance of weights and of distances between weights. A SAM that takes the norm in float32, whatever the
dtype of the weights, is right too. The norm's relative error of 6e-8 amounts to 1e-8 in the weights at the radius used
here.
"""

_RATIO_ATOL = 1e-5
"""Absolute tolerance of e / rho and of ‖e‖ / rho, which are at most about 1. A program may add 1e-6 to the norm, as
torch does, or compute it in float32; it is at least 0.3 here."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss of the scenario `together`, for the recipe of its updates."""
    return Problem(mlp(env), sam_batches(env), lambda outputs, _: fixture_loss(outputs))


# ---- climbing ------------------------------------------------------------------------------------


@driver.scenario("climbs", "first_step", atol=_RATIO_ATOL)
def _climbs(stage: Stage) -> None:
    """Record length and direction of e.

    A wrong program does not divide by the norm, takes a norm for each tensor or group, goes downhill, or mixes weight
    decay into the direction.
    """
    record_climbs(stage, adaptive=False)


@driver.scenario("adaptive-climbs", "adaptive=True의 first_step", atol=_RATIO_ATOL)
def _adaptive_climbs(stage: Stage) -> None:
    """Record length and direction of ASAM's e.

    A wrong program ignores `adaptive`, or multiplies only one of norm and direction by the weights' sizes.
    """
    record_climbs(stage, adaptive=True)


# ---- coming back and stepping --------------------------------------------------------------------


def _update_with_random_gradients(stage: Stage, base_class: type[Optimizer], **kwargs: Any) -> None:
    """Make three updates with two groups. In the second update, the step's gradients are large: clipping would show."""
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, two_groups(model, (0.03, 0.02)), base_class, rho=RHO, **kwargs)
    gradients = RandomGradients(stage.env, model)
    for scale in (1.0, 20.0, 1.0):
        watched.update_with(gradients.next(), gradients.next(scale=scale))


@driver.scenario("sgd", "주어진 그레이디언트로 하는 second_step", atol=_WEIGHTS_ATOL)
def _sgd(stage: Stage) -> None:
    """Update over SGD.

    A wrong program does not go back to w, goes back after the step, or makes the base optimizer step twice.
    """
    _update_with_random_gradients(stage, torch.optim.SGD, lr=0.03)


@driver.scenario("momentum", "모멘텀 위의 second_step", atol=_WEIGHTS_ATOL)
def _momentum(stage: Stage) -> None:
    """Update over SGD with momentum and weight decay.

    A wrong program does not hand these arguments on, or updates from w + e, where weight decay subtracts another
    amount.
    """
    _update_with_random_gradients(stage, torch.optim.SGD, lr=0.03, momentum=0.9, weight_decay=0.05)


@driver.scenario("adamw", "AdamW 위의 second_step", check="momentum", atol=_WEIGHTS_ATOL)
def _adamw(stage: Stage) -> None:
    """Update over AdamW; the parameters come as a generator, and the radius keeps its default.

    A wrong program reads the generator twice, or makes the base optimizer step in `first_step` too.
    """
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, model.parameters(), torch.optim.AdamW, lr=0.02, weight_decay=0.05)
    gradients = RandomGradients(stage.env, model)
    for _ in range(3):
        watched.update_with(gradients.next(), gradients.next())


# ---- whole updates -------------------------------------------------------------------------------


def _update_on_batches(stage: Stage, base_class: type[Optimizer], **kwargs: Any) -> None:
    """Make updates on three batches, with two groups and rates that are set through the SAM's own groups.

    At the end, record whether all parameters are trainable leaves: a wrong program replaces them by results of
    operations, or leaves `requires_grad` off.
    """
    model = mlp(stage.env)
    watched = WatchedSAM(stage, model, two_groups(model, (0.3, 0.2)), base_class, rho=RHO, **kwargs)
    for batch in sam_batches(stage.env)[:3]:
        watched.update(batch)
        scale_rates(watched.sam, 0.8)
    are_trainable = all(p.is_leaf and p.requires_grad for p in model.parameters())
    stage.recorder.fact("모든 매개변수가 학습되는 잎 텐서임", are_trainable)


@driver.scenario("together", "SGD 위의 SAM", atol=_WEIGHTS_ATOL, problem=_problem)
def _together(stage: Stage) -> None:
    """Make whole updates over SGD.

    A wrong program clears gradients before it has used them, does not share its groups with the base optimizer, or has
    most of the mistakes above.
    """
    _update_on_batches(stage, torch.optim.SGD, lr=0.3)


@driver.scenario("adaptive", "모멘텀 위의 ASAM", check="together", atol=_WEIGHTS_ATOL)
def _adaptive(stage: Stage) -> None:
    """Make whole updates of ASAM over momentum.

    A wrong program ignores `adaptive`, or has most of the mistakes above.
    """
    _update_on_batches(stage, torch.optim.SGD, lr=0.3, momentum=0.9, adaptive=True)


@driver.scenario("float32", "float32 모델 위의 SAM", check="together", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """Make whole updates of a float32 model.

    A wrong program uses autocast. That has no effect on the float64 of the other scenarios.
    """
    model = mlp(stage.env).float()
    watched = WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, rho=RHO, lr=0.3)
    for xb, yb in sam_batches(stage.env)[:2]:
        watched.update((xb.float(), yb))


# ---- gradients that are None or zero -------------------------------------------------------------

add_missing_gradient_scenarios(driver, check="none", atol=_WEIGHTS_ATOL)


# ---- schedulers ----------------------------------------------------------------------------------


def _update_with_scheduler(stage: Stage, *, on_sam: bool) -> None:
    """Make three updates with a scheduler over two groups, then over the parameters as a generator.

    Two optimizers that are given the same dicts as groups share these dicts without further code. Two that are given
    parameters do not share their groups.

    Args:
        stage: the scenario's stage.
        on_sam: make the scheduler with the SAM; otherwise with the base optimizer.
    """
    for has_two_groups in (True, False):
        model = mlp(stage.env)
        params: Any = two_groups(model, (0.03, 0.02)) if has_two_groups else model.parameters()
        watched = WatchedSAM(stage, model, params, torch.optim.SGD, rho=RHO, lr=0.03)
        gradients = RandomGradients(stage.env, model)
        with warnings.catch_warnings():
            # torch warns if `sam.step()` was not called before `scheduler.step()`.
            warnings.simplefilter("ignore")
            has_base = watched.base is not None  # a wrong program may have no base optimizer
            optimizer: Any = watched.base if has_base and not on_sam else watched.sam
            scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
            for _ in range(3):
                watched.update_with(gradients.next(), gradients.next())
                scheduler.step()


@driver.scenario("schedulers", "SAM에 건 스케줄러", atol=_WEIGHTS_ATOL)
def _schedulers(stage: Stage) -> None:
    """Make the scheduler with the SAM.

    A wrong program does not share its groups with the base optimizer, whose rates stay as they were.
    """
    _update_with_scheduler(stage, on_sam=True)


@driver.scenario("scheduler-on-base", "base 옵티마이저에 건 스케줄러", check="schedulers", atol=_WEIGHTS_ATOL)
def _scheduler_on_base(stage: Stage) -> None:
    """Make the scheduler with the base optimizer.

    A wrong program writes its own rates into the base optimizer's groups before a step.
    """
    _update_with_scheduler(stage, on_sam=False)


# ---- saving and loading --------------------------------------------------------------------------


@driver.scenario("saves", "state_dict로 저장하기", check="resumes", atol=_WEIGHTS_ATOL)
def _saves(stage: Stage) -> None:
    """Record which tensors of the base optimizer's state are in the `state_dict`, wherever they are in it.

    A wrong program saves only its own state, which holds none of them.
    """
    for base_index, (base_class, _) in enumerate(STATEFUL_BASES):
        first = sam_with_state(stage, base_index, watch=False)
        saved = stage.recorder.call(first.sam.state_dict)
        fact = f"{base_class.__name__}의 상태 텐서마다 저장되었는지"
        stage.recorder.fact(fact, ", ".join(state_tensor_presence(saved, first.base)))


@driver.scenario("loads", "load_state_dict로 읽기", check="resumes", atol=_WEIGHTS_ATOL)
def _loads(stage: Stage) -> None:
    """Record which tensors of the first base optimizer's state are in the new one's after loading.

    A wrong program loads only its own state.
    """
    for base_index, (base_class, _) in enumerate(STATEFUL_BASES):
        first = sam_with_state(stage, base_index, watch=False)
        second = resume_in_new_sam(stage, first, base_index, state_to_load(stage, first), watch=False)
        state = {} if second.base is None else dict(enumerate(second.base.state.values()))
        fact = f"{base_class.__name__}의 상태 텐서마다 읽혔는지"
        stage.recorder.fact(fact, ", ".join(state_tensor_presence(state, first.base)))


@driver.scenario("loads-groups", "읽은 다음의 param_groups", check="resumes", atol=_WEIGHTS_ATOL)
def _loads_groups(stage: Stage) -> None:
    """Record the rates after loading, then after the rates were scaled through the SAM.

    A wrong program keeps its old rates, or no longer shares its groups with the base optimizer, whose groups are new
    objects after loading.
    """
    first = sam_with_state(stage, 0, watch=False)
    second = resume_in_new_sam(stage, first, 0, state_to_load(stage, first), watch=False)
    base = second.base or second.sam
    stage.recorder.array("읽은 다음의 학습률", [group["lr"] for group in base.param_groups])
    scale_rates(second.sam, 0.5)
    stage.recorder.array("읽고 SAM에서 바꾼 학습률", [group["lr"] for group in base.param_groups])


@driver.scenario("loads-climb", "읽은 다음의 first_step", check="resumes", atol=_WEIGHTS_ATOL)
def _loads_climb(stage: Stage) -> None:
    """Climb with a SAM that saved its state and with one that loaded it, and record the difference of their weights.

    The weights themselves are judged in `climbs`. A wrong program loses its radius by loading. Both SAMs were made with
    the same radius: the contract does not say which one counts if the saved one differs, so a SAM may keep its radius
    in its groups or as an attribute.
    """
    first = sam_with_state(stage, 0, watch=False)
    second = resume_in_new_sam(stage, first, 0, state_to_load(stage, first), watch=False)
    gradients = RandomGradients(stage.env, first.model).next()
    for watched in (first, second):
        watched.set_gradients(gradients)
        stage.recorder.call(watched.sam.first_step)
    difference = flat_weights(second.model) - flat_weights(first.model)
    # NaN in both, for a SAM that climbs to NaN, is no difference.
    stage.recorder.array("읽은 SAM과 읽지 않은 SAM이 올라간 곳의 차이", difference.nan_to_num())


@driver.scenario("resumes", "state_dict로 이어서 학습하기", atol=_WEIGHTS_ATOL)
def _resumes(stage: Stage) -> None:
    """Carry the state of a SAM after two updates over to a new SAM over a copy of the model; make two more updates.

    The first two are made in `sam_with_state`. A wrong program loses the momentum, or whatever else the base optimizer
    remembers.
    """
    for base_index in range(len(STATEFUL_BASES)):
        first = sam_with_state(stage, base_index, watch=True)
        # A copy, as a file would hold it: untouched by whatever happens to the first SAM.
        saved = copy.deepcopy(stage.recorder.call(first.sam.state_dict))
        second = resume_in_new_sam(stage, first, base_index, saved, watch=True)
        gradients = RandomGradients(stage.env, second.model)
        for _ in range(2):
            second.update_with(gradients.next(), gradients.next())
            scale_rates(second.sam, 0.8)


# ---- the radius, the type, and zero_grad ---------------------------------------------------------


@driver.scenario("promises", "음수 rho", atol=_WEIGHTS_ATOL)
def _negative_rho(stage: Stage) -> None:
    """Make SAMs with negative radii.

    A wrong program accepts one, or raises another exception than ValueError.
    """
    parameters = list(mlp(stage.env).parameters())
    for rho in (-0.1, -1e-9):
        stage.recorder.record_raised(
            ValueError,
            f"`rho={rho}`로 만들었을 때",
            stage.student("SAM"),
            parameters,
            torch.optim.SGD,
            rho=rho,
            lr=0.3,
        )


@driver.scenario("zero-rho", "rho=0", check="promises", atol=_WEIGHTS_ATOL)
def _zero_rho(stage: Stage) -> None:
    """Make a SAM with a radius of zero, and record how far `first_step` moves the weights.

    A wrong program refuses zero, or takes its default radius for it (`rho or 0.05`).
    """
    recorder, model = stage.recorder, mlp(stage.env)
    # Not a `WatchedSAM`, which cannot be made if the constructor refuses the radius.
    made: list[Any] = []  # the SAM, if there is one: `record_raised` returns nothing

    def make() -> None:
        made.append(stage.student("SAM")(list(model.parameters()), torch.optim.SGD, rho=0.0, lr=0.3))

    recorder.record_raised(ValueError, "`rho=0.0`으로 만들었을 때", make)
    before = flat_weights(model)
    gradients = RandomGradients(stage.env, model).next()
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        parameter.grad = gradient
    if made:
        recorder.call(made[0].first_step)
    recorder.array("`rho=0.0`의 first_step이 옮긴 거리", distance_moved(model, before))


@driver.scenario("optimizer", "torch.optim.Optimizer", check="promises", atol=_WEIGHTS_ATOL)
def _optimizer(stage: Stage) -> None:
    """Record whether the SAM is a torch Optimizer.

    A wrong program is a class of its own, which schedulers and other tools refuse.
    """
    sam = sam_over_sgd(stage, watch=False).sam
    stage.recorder.fact("torch.optim.Optimizer인가", isinstance(sam, Optimizer))


def _record_clearing(stage: Stage, tested_method: str) -> None:
    """Record whether gradients are left by default, with `zero_grad=False` and with `zero_grad=True`.

    Args:
        stage: the scenario's stage.
        tested_method: the method that is given the argument, `first_step` or `second_step`. The other one is called
            without it, as both belong to an update.
    """
    model = mlp(stage.env)
    groups = two_groups(model, (0.03, 0.02))
    watched = WatchedSAM(stage, model, groups, torch.optim.SGD, watch=False, rho=RHO, lr=0.03)
    gradients = RandomGradients(stage.env, model)
    for tested_arguments in ({}, {"zero_grad": False}, {"zero_grad": True}):
        for method in ("first_step", "second_step"):
            watched.set_gradients(gradients.next())
            arguments = tested_arguments if method == tested_method else {}
            stage.recorder.call(getattr(watched.sam, method), **arguments)
            if method == tested_method:
                are_left = any(p.grad is not None and bool(p.grad.ne(0).any()) for p in watched.parameters)
                written = "".join(f"{key}={value}" for key, value in arguments.items())
                fact = f"`{method}({written})` 뒤에 그레이디언트가 남음"
                stage.recorder.claim(fact, are_left, flat_gradients(watched.model))


@driver.scenario("clears-first", "first_step의 zero_grad", check="promises", atol=_WEIGHTS_ATOL)
def _clears_first(stage: Stage) -> None:
    """Call `first_step` with each value of `zero_grad`.

    A wrong program never clears, always clears, or clears the first group only.
    """
    _record_clearing(stage, "first_step")


@driver.scenario("clears-second", "second_step의 zero_grad", check="promises", atol=_WEIGHTS_ATOL)
def _clears_second(stage: Stage) -> None:
    """Call `second_step` with each value of `zero_grad`.

    A wrong program never clears, always clears, or clears the first group only.
    """
    _record_clearing(stage, "second_step")
