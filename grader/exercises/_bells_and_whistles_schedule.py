"""Drivers of lesson 03, first part: planning steps, the learning rate of a step, clipping by hand."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.observe.play import Driver, Env, Scenario, Stage
from grader.observe.recorder import as_number, type_name
from grader.observe.trace import Fact

FLOAT32_ATOL = 1e-6
"""A rate may have passed through float32 (`torch.cos`): right too, and rounded to about 6e-8."""

CLIP_ATOL = 1e-5
"""torch divides by norm + 1e-6; without it is right too. A norm may have been summed up in float32."""


# ---- plan_steps ----------------------------------------------------------------------------------

_Plan = tuple[int, int, float, int]
"""n_batches, n_epochs, warmup_ratio, accum_steps."""


class _Draw:
    """Whole numbers and fractions from one generator."""

    def __init__(self, env: Env, salt: str) -> None:
        self._generator = env.generator(salt)

    def whole(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(torch.randint(low, high + 1, (1,), generator=self._generator))

    def real(self, low: float, high: float) -> float:
        """Between low and high."""
        return low + (high - low) * float(torch.rand(1, generator=self._generator, dtype=torch.float64))


def _plan(draw: _Draw, accum_steps: int, short: int, *, rest: tuple[float, float]) -> _Plan:
    """An epoch's last window holds `short` micro-batches (0: it is whole).

    The warm-up has a fractional part within `rest`: exact halves are rounded in two ways, both of them right.
    """
    while True:
        windows, epochs = draw.whole(8, 30), draw.whole(2, 5)
        ratio = round(draw.real(0.02, 0.19), 3)
        n_batches = windows * accum_steps + short
        steps = (windows + (short > 0)) * epochs
        if rest[0] <= math.modf(steps * ratio)[0] <= rest[1]:
            return n_batches, epochs, ratio, accum_steps


_ROUNDS_UP, _ROUNDS_DOWN = (0.6, 0.9), (0.1, 0.4)


def _planned(stage: Stage, plan: _Plan) -> Any:
    n_batches, n_epochs, ratio, accum_steps = plan
    extra = {} if accum_steps == 1 else {"accum_steps": accum_steps}
    return stage.recorder.call(stage.student("plan_steps"), n_batches, n_epochs, warmup_ratio=ratio, **extra)


def _record_plan(stage: Stage, plan: _Plan) -> None:
    """Both numbers as a fact under the call's own text."""
    n_batches, n_epochs, ratio, accum_steps = plan
    accum = "" if accum_steps == 1 else f", accum_steps={accum_steps}"
    text = f"plan_steps({n_batches}, {n_epochs}, warmup_ratio={ratio}{accum})"
    stage.recorder.fact(text, _numbers(_planned(stage, plan)))


def _numbers(value: Any) -> Fact:
    """What came back as a list of numbers, whole ones as int; a value of another kind by its type's name."""
    if not isinstance(value, tuple | list):
        return [_number(value)]
    return [_number(item) for item in list(value)[:10]]


def _number(value: Any) -> Fact:
    number = as_number(value)
    if math.isnan(number):
        return f"<{type_name(value)}>"
    return int(number) if number.is_integer() else number


def _plain_plans(stage: Stage) -> None:
    """One step a batch."""
    draw = _Draw(stage.env, "plans")
    for rest in (_ROUNDS_UP, _ROUNDS_DOWN, _ROUNDS_UP):
        _record_plan(stage, _plan(draw, 1, 0, rest=rest))


def _accumulated_plans(stage: Stage) -> None:
    """Windows that are all whole, and a last window of less and of more than half."""
    draw = _Draw(stage.env, "plans")
    for accum_steps, short, rest in ((4, 0, _ROUNDS_UP), (5, 1, _ROUNDS_DOWN), (8, 6, _ROUNDS_UP)):
        _record_plan(stage, _plan(draw, accum_steps, short, rest=rest))


def _short_plans(stage: Stage) -> None:
    """So few steps that the ratio alone gives less than one; one window that is never whole."""
    draw = _Draw(stage.env, "plans")
    _record_plan(stage, (draw.whole(20, 40), 2, 0.004, 1))
    _record_plan(stage, (draw.whole(2, 3), draw.whole(2, 4), 0.02, 8))


def _ratios(stage: Stage) -> None:
    """Both ends are allowed; beyond them nothing is."""
    draw = _Draw(stage.env, "plans")
    for ratio in (0.001, 0.2):
        # A multiple of 5, and no half of a step at either end.
        _record_plan(stage, (1000 * draw.whole(2, 9) + 5 * draw.whole(20, 80), 1, ratio, 1))
    for ratio in (0.0, 0.0004, 0.25, 10.0, -0.1):
        student = stage.student("plan_steps")
        stage.recorder.expect(ValueError, f"warmup_ratio={ratio}", student, 100, 2, warmup_ratio=ratio)


def _plan_types(stage: Stage) -> None:
    draw = _Draw(stage.env, "plans")
    value = _planned(stage, _plan(draw, 4, 1, rest=_ROUNDS_UP))
    items = list(value)[:10] if isinstance(value, tuple | list) else []
    kind = "tuple" if isinstance(value, tuple) else type_name(value)  # a named tuple is one
    stage.recorder.fact("반환 타입", [kind, *(type_name(item) for item in items)])


# ---- lr_at ---------------------------------------------------------------------------------------


def _rates(env: Env) -> dict[str, float]:
    """Three rates far from each other, as keyword arguments."""
    draw = _Draw(env, "rates")
    return {
        "initial_lr": draw.real(0.03, 0.06),
        "peak_lr": draw.real(0.5, 0.9),
        "min_lr": draw.real(0.005, 0.02),
    }


def _lengths(env: Env) -> tuple[int, int]:
    """Warm-up and total number of steps."""
    draw = _Draw(env, "lengths")
    return draw.whole(4, 7), draw.whole(18, 26)


def _curve(
    stage: Stage, name: str, steps: Sequence[int], warmup_steps: int, total_steps: int, **decay: str
) -> list[Any]:
    """The rates at `steps` as a compared array; what the function returned is handed back."""
    rates = _rates(stage.env)
    values = [
        stage.recorder.call(
            stage.student("lr_at"), step, warmup_steps=warmup_steps, total_steps=total_steps, **rates, **decay
        )
        for step in steps
    ]
    stage.recorder.array(name, [as_number(value) for value in values])
    return values


def _ramp(stage: Stage) -> None:
    """From the first step to the peak."""
    warmup, total = _lengths(stage.env)
    _curve(stage, "워밍업의 학습률", range(warmup + 1), warmup, total)


def _cosine(stage: Stage) -> None:
    """From the peak to the last step; cosine is what is meant when nothing is said."""
    warmup, total = _lengths(stage.env)
    _curve(stage, "코사인 감쇠의 학습률", range(warmup, total), warmup, total)
    _curve(stage, 'decay="cosine"의 학습률', (warmup + 3,), warmup, total, decay="cosine")


def _linear(stage: Stage) -> None:
    warmup, total = _lengths(stage.env)
    _curve(stage, "선형 감쇠의 학습률", range(warmup, total), warmup, total, decay="linear")


def _beyond(stage: Stage) -> None:
    """The last step, and steps that nobody planned."""
    warmup, total = _lengths(stage.env)
    steps = (total - 1, total, total + 1, total + warmup, 2 * total - warmup + 1)
    for decay in ("cosine", "linear"):
        _curve(stage, f"끝난 뒤의 학습률 ({decay})", steps, warmup, total, decay=decay)


def _without_warmup(stage: Stage) -> None:
    _, total = _lengths(stage.env)
    _curve(stage, "warmup_steps=0일 때의 학습률", range(total + 1), 0, total)


def _warmup_only(stage: Stage) -> None:
    """Warm-up to the end, and to one step before it."""
    _, total = _lengths(stage.env)
    steps = range(total + 2)
    _curve(stage, "warmup_steps=total_steps일 때의 학습률", steps, total, total)
    _curve(stage, "warmup_steps=total_steps−1일 때의 학습률", steps, total - 1, total, decay="linear")


def _other_decay(stage: Stage) -> None:
    """Asked half-way down, where the decay is needed."""
    warmup, total = _lengths(stage.env)
    for decay in ("exponential", "polynomial"):
        stage.recorder.expect(
            ValueError,
            f'decay="{decay}"',
            stage.student("lr_at"),
            (warmup + total) // 2,
            warmup_steps=warmup,
            total_steps=total,
            **_rates(stage.env),
            decay=decay,
        )


def _rate_types(stage: Stage) -> None:
    warmup, total = _lengths(stage.env)
    steps = (1, warmup, warmup + 3, total - 1)
    values = _curve(stage, "학습률", steps, warmup, total)
    stage.recorder.fact("반환 타입", [type_name(value) for value in values])


# ---- clip_global_norm ----------------------------------------------------------------------------

_SHAPES = ((3, 4), (4,), (2, 3), (5,))


def _parameters(env: Env, salt: str = "grads") -> list[nn.Parameter]:
    """Four parameters whose gradients differ in size from one to the next, the negative one being largest."""
    generator = env.generator(salt)
    parameters = []
    for number, shape in enumerate(_SHAPES):
        parameter = nn.Parameter(torch.zeros(shape, dtype=torch.float64, device=env.device))
        grad = torch.randn(shape, generator=generator, dtype=torch.float64) * (0.4 + 0.5 * number)
        if number == 2:
            grad[0, 1] = -6.0
        parameter.grad = grad.to(env.device)
        parameters.append(parameter)
    return parameters


def _gradients(parameters: Sequence[nn.Parameter]) -> Tensor:
    """All gradients as one vector; NaN in place of one that is missing."""
    parts = [
        torch.full_like(p, torch.nan) if p.grad is None or p.grad.shape != p.shape else p.grad
        for p in parameters
    ]
    return torch.cat([part.detach().double().ravel() for part in parts])


def _norm(parameters: Sequence[nn.Parameter]) -> float:
    return float(torch.linalg.vector_norm(torch.nan_to_num(_gradients(parameters), nan=0.0)))


def _clipped(stage: Stage, parameters: Any, max_norm: float) -> Any:
    return stage.recorder.call(stage.student("clip_global_norm"), parameters, max_norm)


def _clips(stage: Stage) -> None:
    """Below the largest component, so that cutting by value acts too, and close to the norm."""
    for number, share in enumerate((0.15, 0.9)):
        parameters = _parameters(stage.env, str(number))
        _clipped(stage, parameters, share * _norm(parameters))
        stage.recorder.array(f"{number + 1}번째로 자른 그레이디언트", _gradients(parameters))


def _small(stage: Stage) -> None:
    """The norm is within the limit, by little and by much: not so much that an epsilon beside it would show.

    Then once beyond it, in whatever way: a function that never touches anything has not understood the limit.
    """
    for number, factor in enumerate((1.5, 4.0)):
        parameters = _parameters(stage.env, str(number))
        _clipped(stage, parameters, factor * _norm(parameters))
        stage.recorder.array(f"{number + 1}번째로 건넨 그레이디언트", _gradients(parameters))
    parameters = _parameters(stage.env, "beyond")
    before = _gradients(parameters)
    _clipped(stage, parameters, 0.4 * _norm(parameters))
    changed = bool((before - _gradients(parameters)).ne(0).any())
    stage.recorder.array("노름이 max_norm을 넘는 그레이디언트가 바뀜", before * changed)


def _missing(stage: Stage) -> None:
    """Two parameters without a gradient, one of them first."""
    parameters = _parameters(stage.env)
    for number in (0, 3):
        parameters[number].grad = None
    _clipped(stage, parameters, 0.4 * _norm(parameters))
    stage.recorder.array("자른 그레이디언트", _gradients(parameters))
    stage.recorder.fact("None이던 .grad", ["없음" if parameters[i].grad is None else "텐서" for i in (0, 3)])


def _from_generator(stage: Stage) -> None:
    """What `model.parameters()` gives can be gone through once."""
    parameters = _parameters(stage.env)
    _clipped(stage, (p for p in parameters), 0.4 * _norm(parameters))
    stage.recorder.array("자른 그레이디언트", _gradients(parameters))


def _in_place(stage: Stage) -> None:
    """Whoever holds a gradient's tensor sees it shrink."""
    parameters = _parameters(stage.env)
    held = [p.grad for p in parameters]
    _clipped(stage, parameters, 0.4 * _norm(parameters))
    values = [torch.zeros(0) if grad is None else grad.detach().ravel() for grad in held]
    stage.recorder.array("부르기 전에 잡아 둔 그레이디언트", torch.cat(values))


def _norms(stage: Stage) -> None:
    """Clipped and not clipped, the norm before comes back."""
    for number, factor in enumerate((0.4, 2.0)):
        parameters = _parameters(stage.env, str(number))
        stage.recorder.returned(_clipped(stage, parameters, factor * _norm(parameters)))


def _not_finite(stage: Stage) -> None:
    """A whole gradient first: a function that always raises is not right here either."""
    parameters = _parameters(stage.env)
    _clipped(stage, parameters, 0.4 * _norm(parameters))
    stage.recorder.array("무한대도 NaN도 없는 그레이디언트", _gradients(parameters))
    for value in (math.inf, math.nan, -math.inf):
        parameters = _parameters(stage.env)
        assert parameters[2].grad is not None
        parameters[2].grad[1, 1] = value
        what = f"그레이디언트에 {value}가 있을 때"
        stage.recorder.expect(RuntimeError, what, stage.student("clip_global_norm"), parameters, 1.0)
        stage.recorder.array(f"{value}가 있던 그레이디언트", _gradients(parameters))


DRIVERS = (
    Driver(
        "plan_steps",
        (
            Scenario("plain", "누적하지 않는 학습", _plain_plans),
            Scenario("accum", "그레이디언트 누적", _accumulated_plans),
            Scenario("short", "아주 짧은 학습", _short_plans),
            Scenario("ratio", "비율의 범위", _ratios),
            Scenario("types", "반환 타입", _plan_types),
        ),
    ),
    Driver(
        "lr_at",
        (
            Scenario("ramp", "워밍업", _ramp, FLOAT32_ATOL),
            Scenario("cosine", "코사인 감쇠", _cosine, FLOAT32_ATOL),
            Scenario("linear", "선형 감쇠", _linear, FLOAT32_ATOL),
            Scenario("end", "마지막 스텝과 그 뒤", _beyond, FLOAT32_ATOL),
            Scenario("no-warmup", "워밍업 없이", _without_warmup, FLOAT32_ATOL),
            Scenario("all-warmup", "워밍업만", _warmup_only, FLOAT32_ATOL),
            Scenario("decay", "모르는 decay", _other_decay, FLOAT32_ATOL),
            Scenario("types", "반환 타입", _rate_types, FLOAT32_ATOL),
        ),
    ),
    Driver(
        "clip_global_norm",
        (
            Scenario("clips", "노름이 max_norm보다 클 때", _clips, CLIP_ATOL),
            Scenario("small", "노름이 max_norm보다 작을 때", _small, CLIP_ATOL),
            Scenario("none", ".grad가 None인 매개변수", _missing, CLIP_ATOL),
            Scenario("generator", "제너레이터로 받은 매개변수", _from_generator, CLIP_ATOL),
            Scenario("in-place", "제자리에서 줄이기", _in_place, CLIP_ATOL),
            Scenario("returns", "반환값", _norms, CLIP_ATOL),
            Scenario("not-finite", "무한대와 NaN", _not_finite, CLIP_ATOL),
        ),
    ),
)
