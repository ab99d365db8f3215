"""Driver of `accumulate`, which makes one update for each window of `accum_steps` micro-batches.

The exercise asks for the mean gradient of each window (a short last one too), an optional clip of each window, no
gradients left at the end, and the number of updates as return value. Each scenario isolates one of these (whole
windows, a short one, clipping, leftover gradients, …); the last one combines them all. Scenarios that are not about
parameters do not compare them, so that a wrong update costs its own check only.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from grader.exercises.five_line_step._gradients import next_gradients
from grader.exercises.fixtures.classifiers import (
    Batch,
    LossFn,
    Net,
    adamw,
    batches,
    flat_weights,
    gradient_norm,
    loss_function,
    mlp,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.given_modes import EVERY_MODE, record_modes
from grader.exercises.fixtures.memory import record_window_memory
from grader.exercises.fixtures.precision import record_precision
from grader.exercises.fixtures.tolerances import CLIP_ATOL
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.wording import called_with

driver = Driver("accumulate", cost=1.15)

MICRO = 5
"""Samples in every micro-batch. All are equal, so that concatenating a window is as right as looping over it. No window
has this many micro-batches, so that dividing by the one number is never the same as dividing by the other.
"""

_ACTIVE, _IDLE = 0.15, 50.0
"""`max_norm` in units of the first window's gradient norm: clearly active and clearly idle. The active one would still
clip at four times its size.
"""


class _Case:
    """A model, its optimizer and its data, with a method that calls the student's function on them."""

    def __init__(
        self,
        stage: Stage,
        micro_batches: int,
        *,
        optimizer: Callable[[nn.Module], Optimizer] = sgd,
        states: bool = True,
        watches: bool = True,
    ) -> None:
        self._stage, self.recorder = stage, stage.recorder
        self.model: Net = mlp(stage.env)
        self.loss_fn: LossFn = loss_function(stage.env)
        self.data: list[Batch] = batches(stage.env, [MICRO] * micro_batches)
        self.opt = optimizer(self.model)
        if watches:
            inputs = [xb for xb, _ in self.data]
            self.recorder.watch(self.model, self.opt, batches=inputs, states=states)

    def accumulate(self, micro_batches: Iterable[Batch], accum_steps: int, **extra: Any) -> Any:
        """Call the student's function once with the model and optimizer of this case."""
        student = self._stage.student("accumulate")
        return self.recorder.call(
            student, self.model, self.opt, self.loss_fn, micro_batches, accum_steps, **extra
        )

    def first_norm(self, window: int) -> float:
        """Return the norm of the gradient of the first `window` micro-batches together."""
        inputs = torch.cat([xb for xb, _ in self.data[:window]])
        labels = torch.cat([yb for _, yb in self.data[:window]])
        return gradient_norm(self.model, self.loss_fn, (inputs, labels))


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, [MICRO] * 9), loss_function(env))


@driver.scenario("sgd", "꽉 찬 구간 (SGD)", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Two whole windows of four."""
    case = _Case(stage, 9)
    case.accumulate(case.data[:8], 4)


@driver.scenario("float32", "float32 모델", check="sgd")
def _float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a call, because autocast leaves float64 alone."""
    case = _Case(stage, 2, states=False)
    case.model.float()
    case.accumulate([(xb.float(), yb) for xb, yb in case.data], 2)
    record_precision(case.recorder, case.model)


@driver.scenario("clip", "max_norm", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Two windows with an active clip, then two with an idle one: a clip that always acts would hide a wrong scale."""
    case = _Case(stage, 10)
    norm = case.first_norm(3)
    case.accumulate(case.data[:6], 3, max_norm=_ACTIVE * norm)
    scale_rates(case.opt, 0.8)
    case.accumulate(case.data[6:], 2, max_norm=_IDLE * norm)


@driver.scenario("short", "짧은 마지막 구간", check="edges", problem=_problem)
def _short(stage: Stage) -> None:
    """Seven micro-batches in windows of four, then one whole window, which shows what the first call left behind."""
    case = _Case(stage, 9)
    case.accumulate(case.data[:7], 4)
    scale_rates(case.opt, 0.8)
    case.accumulate(case.data[7:], 2)


@driver.scenario("edges", "구간보다 적은 입력과 빈 입력")
def _edges(stage: Stage) -> None:
    """Fewer micro-batches than a window asks for, and none at all."""
    case = _Case(stage, 2)
    case.accumulate(case.data, 9)
    case.accumulate([], 2)


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """The update is compared with that of the same function on a list, so a wrong update costs nothing here."""
    moved = []
    for kind in ("list", "generator"):
        case = _Case(stage, 4, states=False)
        case.accumulate(case.data if kind == "list" else (batch for batch in case.data), 2)
        moved.append(flat_weights(case.model))
    same = torch.allclose(moved[0], moved[1], rtol=0.0, atol=1e-9, equal_nan=True)
    stage.recorder.fact("리스트로 받았을 때와 업데이트가 같음", "예" if same else "아니요")


@driver.scenario("refuses", "잘못된 accum_steps", check="edges")
def _refuses(stage: Stage) -> None:
    """Only the exception is recorded, not what a function does that goes on instead of raising."""
    case = _Case(stage, 4, watches=False)
    given = (case.model, case.opt, case.loss_fn, case.data)
    for accum_steps in (0, -2):
        fact = called_with("accum_steps", accum_steps)
        case.recorder.expect(ValueError, fact, stage.student("accumulate"), *given, accum_steps)


@driver.scenario("refuses-empty", "빈 입력과 잘못된 accum_steps", check="edges")
def _refuses_with_nothing(stage: Stage) -> None:
    """Empty input with a wrong `accum_steps`: a check inside the loop never runs on empty input."""
    case = _Case(stage, 0, watches=False)
    nothing: list[Batch] = []
    given = (case.model, case.opt, case.loss_fn, nothing, 0)
    case.recorder.expect(
        ValueError, f"빈 입력을 {called_with('accum_steps', 0)}", stage.student("accumulate"), *given
    )


@driver.scenario("returns", "반환값")
def _returns(stage: Stage) -> None:
    """Whole windows of two, then windows of one, then empty input. The counts follow from the seed.

    There are at least three windows of one, because a wrong condition that also steps at the end makes one or two
    updates by chance. The counts stay small, because a repair has to mend the shortest of the failing scenarios first.
    """
    pairs, ones = 1 + stage.env.number("pairs") % 2, 3 + stage.env.number("ones") % 3
    case = _Case(stage, 2 * pairs + ones, watches=False)
    for part, accum_steps in ((case.data[: 2 * pairs], 2), (case.data[2 * pairs :], 1), ([], 2)):
        case.recorder.returned(case.accumulate(part, accum_steps))


@driver.scenario("leftover", "끝난 뒤의 그레이디언트")
def _leftover(stage: Stage) -> None:
    """The gradients left by two whole windows, each from the model's initial weights."""
    case = _Case(stage, 4, states=False)
    recorder, parameters = case.recorder, list(case.model.parameters())
    start = [p.detach().clone() for p in parameters]
    for number, part in enumerate((case.data[:2], case.data[2:])):
        case.accumulate(part, 2)
        recorder.append_fact("매개변수가 움직임", _differ(parameters, start))
        recorder.append_fact("그레이디언트가 남음", recorder.gradients_left())
        # Every nonzero leftover becomes 1, because a wrong divisor is not judged here.
        with torch.no_grad():
            for parameter, before in zip(parameters, start, strict=True):
                parameter.copy_(before)
                if parameter.grad is not None:
                    parameter.grad = parameter.grad.ne(0).to(parameter.dtype)
        recorder.array(
            f"{number + 1}번째 호출 뒤의 backward()가 만든 그레이디언트",
            next_gradients(case.model, case.loss_fn, case.data[number]),
        )


def _differ(parameters: list[nn.Parameter], start: list[torch.Tensor]) -> str:
    return "예" if any(not torch.equal(p, q) for p, q in zip(parameters, start, strict=True)) else "아니요"


@driver.scenario("modes", "받은 모드", check="leftover")
def _modes(stage: Stage) -> None:
    """A model in each mode; two calls of one window each."""
    loss_fn, data = loss_function(stage.env), batches(stage.env, [MICRO] * 4)

    def use(model: Net) -> None:
        opt = sgd(model, momentum=0.9)
        stage.recorder.watch(model, opt, states=False)
        for part in (data[:2], data[2:]):
            stage.recorder.call(stage.student("accumulate"), model, opt, loss_fn, part, 2)

    record_modes(stage, lambda: mlp(stage.env), use, EVERY_MODE)


@driver.scenario("quiet", "화면 출력", check="leftover")
def _quiet(stage: Stage) -> None:
    """Nothing may be printed."""
    case = _Case(stage, 3, watches=False)
    case.accumulate(case.data, 2)
    case.recorder.fact("print를 부름", "예" if case.recorder.prints else "아니요")


@driver.scenario("adamw", "AdamW에 모두 함께: 짧은 구간, 클리핑, 두 번 부르기", atol=CLIP_ATOL)
def _adamw(stage: Stage) -> None:
    """A short window, clipping, a generator and several calls combined.

    This shows mistakes that depend on two of them, such as a short window that is not clipped.
    """
    case = _Case(stage, 10, optimizer=adamw)
    norm = case.first_norm(3)
    generator = (batch for batch in case.data[5:8])
    parts = ((case.data[:5], 3, _ACTIVE * norm), (generator, 2, _IDLE * norm), (case.data[8:], 1, None))
    for part, accum_steps, limit in parts:
        case.recorder.returned(case.accumulate(part, accum_steps, max_norm=limit))
        case.recorder.append_fact("그레이디언트가 남음", case.recorder.gradients_left())
        scale_rates(case.opt, 0.8)


@driver.scenario("memory", "함께 살아 있는 계산 그래프")
def _memory(stage: Stage) -> None:
    """Two whole windows of three. A window that is joined, or run backward once at its end, holds all of it."""
    case = _Case(stage, 6, states=False)
    meter = case.recorder.measure_memory(case.model)
    case.accumulate(case.data, 3)
    record_window_memory(case.recorder, meter, MICRO)
