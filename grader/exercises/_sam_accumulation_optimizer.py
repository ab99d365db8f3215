"""Drivers of lesson 04, first part: the class `SAM` and `sharpness`."""

import copy
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.observe.fixtures.classifiers import (
    Batch,
    LossFn,
    Net,
    batches,
    loss_function,
    mlp,
    moody_mlp,
    scale_rates,
    two_groups,
)
from grader.observe.play import Driver, Env, Problem, Scenario, Stage
from grader.observe.recorder import as_number, type_name
from grader.observe.trace import Fact

SAM_ATOL = 1e-7
"""A library may take the norm in float32 whatever the weights are: right too. Its relative error of 6e-8 is worth
1e-8 in the weights at the radius used here."""

RATIO_ATOL = 1e-6
"""The same norm in float32, seen in ||e|| / rho itself."""

FLOAT32_ATOL = 1e-6
"""A loss may pass through float32 on its way out."""

_RHO = 0.2
"""Large beside weights of about 0.6: what is measured at w and at w + e must differ plainly."""


# ---- SAM: fixture --------------------------------------------------------------------------------


class _Watched:
    """One model with a SAM over it that the student's class made, and the base optimizer that made itself known."""

    def __init__(
        self,
        stage: Stage,
        model: Net,
        groups: Any,
        kind: type[Optimizer],
        *,
        watch: bool = True,
        **kwargs: Any,
    ) -> None:
        self.model, self.loss_fn, self.recorder = model, loss_function(stage.env), stage.recorder
        made: list[Optimizer] = []
        inputs = [xb for xb, _ in _data(stage.env)]
        if watch:
            # What lies between the two steps is no update: w + e is seen by forward passes only.
            self.recorder.watch(model, batches=inputs, at_forwards=False)
        self.sam = self.recorder.call(stage.student("SAM"), groups, _known(kind, made), **kwargs)
        self.base = made[-1] if made else None
        if watch and self.base is not None:
            self.recorder.adopt(self.base)

    def gradients(self, batch: Batch) -> None:
        """Gradients of one batch where the weights are now, and nothing else."""
        self.model.zero_grad()
        self.loss_fn(self.model(batch[0]), batch[1]).backward()

    def update(self, batch: Batch) -> None:
        """Both passes over one batch; all clearing is done here, not by the student's steps."""
        self.recorder.call(self._update, batch)

    def _update(self, batch: Batch) -> None:
        self.gradients(batch)
        self.recorder.note("first_step")
        self.sam.first_step()
        self.gradients(batch)
        self.sam.second_step()


def _known(kind: type[Optimizer], made: list[Optimizer]) -> type[Optimizer]:
    """The optimizer class, whose instances tell that they have been made."""

    class Known(kind):  # type: ignore[misc,valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    Known.__name__ = Known.__qualname__ = kind.__name__
    return Known


def _data(env: Env) -> list[Batch]:
    return batches(env, (4, 3, 5, 2, 4, 6))


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), _data(env), loss_function(env))


# ---- SAM: first step -----------------------------------------------------------------------------


def _climbs(stage: Stage, *, adaptive: bool) -> None:
    """How far and in which direction `first_step` goes, over one group and over two."""
    env = stage.env
    e_norms, cosines, moves = [], [], []
    for number, rho in enumerate((_RHO, 0.05)):
        model = mlp(env, f"model {number}")
        groups: Any = model.parameters() if number == 0 else two_groups(model, (0.3, 0.2))
        extra = {"adaptive": True} if adaptive else {}
        watched = _Watched(stage, model, groups, torch.optim.SGD, watch=False, rho=rho, lr=0.3, **extra)
        watched.gradients(_data(env)[number])
        direction = torch.cat([_uphill(p, adaptive=adaptive) for p in model.parameters()])
        before = _flat(model)
        stage.recorder.call(watched.sam.first_step)
        moved = _flat(model) - before
        length = moved.norm() if not adaptive else (moved / before.abs()).norm()
        e_norms.append(length / rho)
        cosines.append(moved @ direction / (moved.norm() * direction.norm()))
        moves.append(moved)
    # Compared in the order of their names: direction, length, then element by element.
    stage.recorder.array("cos(e, w²·g)" if adaptive else "cos(e, g)", torch.stack(cosines))
    stage.recorder.array("‖e/|w|‖ ÷ ρ" if adaptive else "‖e‖ ÷ ρ", torch.stack(e_norms))
    stage.recorder.array("섭동 e", torch.stack(moves))


def _climbs_plain(stage: Stage) -> None:
    _climbs(stage, adaptive=False)


def _climbs_adaptive(stage: Stage) -> None:
    _climbs(stage, adaptive=True)


def _uphill(parameter: Tensor, *, adaptive: bool) -> Tensor:
    assert parameter.grad is not None
    gradient = parameter.grad.clone()
    return ((parameter.detach() ** 2 * gradient) if adaptive else gradient).ravel()


def _flat(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().clone().ravel() for p in model.parameters()])


# ---- SAM: whole updates --------------------------------------------------------------------------


def _trajectory(stage: Stage, kind: type[Optimizer], **kwargs: Any) -> None:
    """Two parameter groups, a moving rate set through the SAM's own groups, batches of different sizes."""
    model = mlp(stage.env)
    watched = _Watched(stage, model, two_groups(model, (0.3, 0.2)), kind, rho=_RHO, **kwargs)
    for batch in _data(stage.env)[:4]:
        watched.update(batch)
        scale_rates(watched.sam, 0.8)


def _sgd(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3)


def _momentum(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3, momentum=0.9, weight_decay=0.05)


def _adamw(stage: Stage) -> None:
    """One group from a generator, and the radius left at its default."""
    model = mlp(stage.env)
    watched = _Watched(stage, model, model.parameters(), torch.optim.AdamW, lr=0.02, weight_decay=0.05)
    for batch in _data(stage.env)[:4]:
        watched.update(batch)
        scale_rates(watched.sam, 0.8)


def _adaptive(stage: Stage) -> None:
    _trajectory(stage, torch.optim.SGD, lr=0.3, adaptive=True)


def _schedulers(stage: Stage) -> None:
    """A scheduler on the SAM object, then (over another model) one on its base optimizer."""
    for number in range(2):
        model = mlp(stage.env, f"model {number}")
        watched = _Watched(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch counts calls of `sam.step()`, which nobody makes here
            over = watched.sam if number == 0 else watched.base or watched.sam
            scheduler = torch.optim.lr_scheduler.ExponentialLR(over, 0.5)
            for batch in _data(stage.env)[:3]:
                watched.update(batch)
                scheduler.step()


def _missing_gradients(stage: Stage) -> None:
    """A tensor with a gradient in the first pass and none in the second, and one the other way round.

    Others in each update: what was remembered in an earlier one must not come back.
    """
    model = mlp(stage.env)
    watched = _Watched(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3)
    parameters = list(model.parameters())

    def update(batch: Batch, first: int, second: int) -> None:
        watched.gradients(batch)
        parameters[first].grad = None
        watched.sam.first_step()
        watched.gradients(batch)
        parameters[second].grad = None
        watched.sam.second_step()

    for batch, missing in zip(_data(stage.env), ((1, 2), (1, 2), (0, 2)), strict=False):
        watched.recorder.call(update, batch, *missing)


def _zero_gradients(stage: Stage) -> None:
    """Nothing but zeros in the first pass: the weights stay, and the second pass steps from them. ASAM as well."""
    recorder = stage.recorder
    for name, extra in (("", {}), ("ASAM이 ", {"adaptive": True})):
        model = mlp(stage.env)
        watched = _Watched(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3, **extra)
        before = _flat(model)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        recorder.call(watched.sam.first_step)
        recorder.array(f"{name}움직인 거리", (_flat(model) - before).norm().reshape(1))
        watched.gradients(_data(stage.env)[0])
        recorder.call(watched.sam.second_step)


def _resumes(stage: Stage) -> None:
    """Three updates, the state carried over to a new SAM over a new model, three more."""
    settings: list[tuple[type[Optimizer], dict[str, Any]]] = [
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.AdamW, {"weight_decay": 0.05}),
    ]
    for number, (kind, kwargs) in enumerate(settings):
        data = _data(stage.env)
        model = mlp(stage.env, f"model {number}")
        first = _Watched(stage, model, two_groups(model, (0.03, 0.02)), kind, rho=_RHO, lr=0.03, **kwargs)
        for batch in data[:3]:
            first.update(batch)
            scale_rates(first.sam, 0.8)
        # As a file would hold it: untouched by whatever happens to the first one.
        saved = copy.deepcopy(stage.recorder.call(first.sam.state_dict))
        resumed = copy.deepcopy(model)
        groups = two_groups(resumed, (0.01, 0.01))
        second = _Watched(stage, resumed, groups, kind, rho=_RHO, lr=0.01, **kwargs)
        stage.recorder.call(second.sam.load_state_dict, saved)
        for batch in data[3:]:
            second.update(batch)
            scale_rates(second.sam, 0.8)


def _promises(stage: Stage) -> None:
    """What kind of thing it is, which radii it takes, and what `zero_grad` does."""
    env, recorder = stage.env, stage.recorder
    make, model = stage.student("SAM"), mlp(env)
    parameters = list(model.parameters())
    for rho in (-0.1, -1e-9):
        recorder.expect(ValueError, f"rho={rho}", make, parameters, torch.optim.SGD, rho=rho, lr=0.3)
    recorder.expect(ValueError, "rho=0.0", make, parameters, torch.optim.SGD, rho=0.0, lr=0.3)
    watched = _Watched(stage, model, model.parameters(), torch.optim.SGD, rho=_RHO, lr=0.3)
    sam = watched.sam
    recorder.fact("torch.optim.Optimizer인가", isinstance(sam, Optimizer))
    for flags in ({}, {"zero_grad": False}, {"zero_grad": True}):
        for name, step in (("first_step", sam.first_step), ("second_step", sam.second_step)):
            watched.gradients(_data(env)[0])
            recorder.call(step, **flags)
            asked = "".join(f"{key}={value}" for key, value in flags.items())
            recorder.fact(f"{name}({asked}) 뒤에 그레이디언트가 남음", recorder.gradients_left())


# ---- sharpness -----------------------------------------------------------------------------------


class _Measured:
    """A model whose sharpness is asked for, and what must be as it was afterwards.

    Its parameters are no recorded states: a restoration by subtraction, right but for the last bit, would add one.
    """

    def __init__(self, stage: Stage, model: Net, loss_fn: LossFn | None = None) -> None:
        self.stage, self.model, self.recorder = stage, model, stage.recorder
        self.loss_fn: LossFn = loss_fn or loss_function(stage.env)
        self.values: list[float] = []
        self.types: list[Fact] = []
        self._before = _flat(model)
        model.observer = stage.recorder
        torch.manual_seed(stage.env.number("dropout"))

    def measure(self, batch: Batch, rho: float) -> None:
        """Ask once."""
        value = self.recorder.call(self.stage.student("sharpness"), self.model, self.loss_fn, *batch, rho=rho)
        self.values.append(as_number(value))
        self.types.append(type_name(value))

    def measure_three(self) -> None:
        """Ask three times, on batches of their own and with a radius each."""
        for batch, rho in zip(batches(self.stage.env, (6, 4, 5)), (0.4, 0.05, 0.2), strict=True):
            self.measure(batch, rho)

    def record_values(self) -> None:
        self.recorder.array("returned", self.values)

    def record_weights(self) -> None:
        self.recorder.array("가중치가 옮겨진 거리", (_flat(self.model) - self._before).norm().reshape(1))


def _sharp_value(stage: Stage) -> None:
    """Three times on a plain loss; then on one whose top is a little way up, beyond which the sign turns."""
    model, smooth = mlp(stage.env).eval(), loss_function(stage.env)
    (batch,) = batches(stage.env, (5,), "hill")
    with torch.no_grad():
        top = smooth(model(batch[0]), batch[1]) + 0.02

    def hill(output: Tensor, target: Tensor) -> Tensor:
        return -((smooth(output, target) - top) ** 2)

    measured = _Measured(stage, model, smooth)
    measured.measure_three()
    measured.loss_fn = hill
    for rho in (0.3, 0.5, 0.8):
        measured.measure(batch, rho)
    measured.record_values()


def _sharp_train_mode(stage: Stage) -> None:
    """Dropout and BatchNorm in train mode: both losses from the same random state."""
    model = moody_mlp(stage.env).train()
    measured = _Measured(stage, model)
    measured.measure_three()
    measured.record_values()
    stage.recorder.fact("모드", [m.training for m in model.modules()])


def _sharp_modes(stage: Stage) -> None:
    """The same model in eval mode, then with frozen statistics: nobody's mode is one flag."""
    model = moody_mlp(stage.env)
    measured = _Measured(stage, model)
    for number, batch in enumerate(batches(stage.env, (6, 4))):
        model.train(number == 1)
        model.layers[1].eval()
        measured.measure(batch, 0.3)
        stage.recorder.fact(f"{number + 1}번째 호출 뒤의 모드", [m.training for m in model.modules()])
    measured.record_values()


def _sharp_weights(stage: Stage) -> None:
    measured = _Measured(stage, mlp(stage.env))
    measured.measure_three()
    measured.record_weights()


def _sharp_statistics(stage: Stage) -> None:
    model = moody_mlp(stage.env).train()
    _Measured(stage, model).measure_three()
    # Not how many batches were counted: passes that leave the running mean and variance alone count them too.
    statistics = [b.detach().double().ravel() for b in model.buffers() if b.is_floating_point()]
    stage.recorder.array("buffers", torch.cat(statistics))


def _sharp_random_state(stage: Stage) -> None:
    _Measured(stage, moody_mlp(stage.env).train()).measure_three()
    stage.recorder.array("다음 난수", torch.rand(4, dtype=torch.float64))


def _sharp_gradients(stage: Stage) -> None:
    """Called on a model without gradients, then on one that holds some: as they were, both times."""
    model, recorder = mlp(stage.env), stage.recorder
    measured = _Measured(stage, model)
    (batch,) = batches(stage.env, (6,))
    measured.measure(batch, 0.1)
    recorder.fact("없던 그레이디언트가 생김", any(_nonzero(p.grad) for p in model.parameters()))
    generator = stage.env.generator("gradients")
    held = []
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        held.append(noise.to(parameter.device))
        parameter.grad = held[-1].clone()
    measured.measure(batch, 0.1)
    kept = [
        p.grad is not None and bool(torch.equal(p.grad, g))
        for p, g in zip(model.parameters(), held, strict=True)
    ]
    recorder.fact("있던 그레이디언트가 그대로임", all(kept))


def _nonzero(gradient: Tensor | None) -> bool:
    return gradient is not None and bool(gradient.ne(0).any())


def _sharp_types(stage: Stage) -> None:
    measured = _Measured(stage, mlp(stage.env))
    measured.measure_three()
    stage.recorder.fact("반환 타입", measured.types)


DRIVERS = (
    Driver(
        "SAM",
        (
            Scenario("climbs", "first_step", _climbs_plain, RATIO_ATOL),
            Scenario("sgd", "SGD 위의 SAM", _sgd, SAM_ATOL, _problem),
            Scenario("momentum", "모멘텀 위의 SAM", _momentum, SAM_ATOL),
            Scenario("adamw", "AdamW 위의 SAM", _adamw, SAM_ATOL),
            Scenario("adaptive-climbs", "adaptive=True의 first_step", _climbs_adaptive, RATIO_ATOL),
            Scenario("adaptive", "SGD 위의 ASAM", _adaptive, SAM_ATOL),
            Scenario("none", "그레이디언트가 None인 매개변수", _missing_gradients, SAM_ATOL),
            Scenario("zero", "그레이디언트가 모두 0일 때", _zero_gradients, SAM_ATOL),
            Scenario("schedulers", "SAM과 base 옵티마이저에 건 스케줄러", _schedulers, SAM_ATOL),
            Scenario("resumes", "state_dict로 이어서 학습하기", _resumes, SAM_ATOL),
            Scenario("promises", "rho와 zero_grad", _promises, SAM_ATOL),
        ),
    ),
    Driver(
        "sharpness",
        (
            Scenario("value", "평가 모드의 모델", _sharp_value, FLOAT32_ATOL),
            Scenario("train-mode", "드롭아웃과 배치 정규화가 있는 모델", _sharp_train_mode, FLOAT32_ATOL),
            Scenario("modes", "평가 모드, 얼린 배치 정규화", _sharp_modes, FLOAT32_ATOL),
            Scenario("weights", "가중치를 그대로 두기", _sharp_weights),
            Scenario("statistics", "배치 정규화의 이동 통계량", _sharp_statistics),
            Scenario("random-state", "난수 상태", _sharp_random_state),
            Scenario("gradients", "그레이디언트를 그대로 두기", _sharp_gradients),
            Scenario("types", "반환 타입", _sharp_types),
        ),
    ),
)
