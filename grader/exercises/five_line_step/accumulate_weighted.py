"""Driver of `accumulate_weighted`, which accumulates over micro-batches of unequal sizes, where a mean of means is
wrong.

The exercise asks for the gradient of the mean loss over all samples of a window, without concatenating the
micro-batches. Scenarios isolate the weights, short windows, generators, earlier and leftover gradients, modes, the size
of a forward pass and the returned count. The samples of every window add up to a power of two: a share that passes
through a float32 tensor is then exact, and such a function is right too.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.alike import record_alike
from grader.exercises.fixtures.classifiers import (
    FEATURES,
    Batch,
    LossFn,
    Net,
    add_gradients,
    batches,
    flat_weights,
    loss_function,
    mlp,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.given_modes import EVERY_MODE, record_modes
from grader.exercises.fixtures.memory import record_window_memory
from grader.exercises.fixtures.precision import record_precision
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.wording import called_with

driver = Driver("accumulate_weighted")

_WINDOWS = ((5, 2, 1), (3, 12, 1), (1, 4, 3))
"""Sizes of the micro-batches in each whole window: 8, 16 and 8 samples together."""
_SHORT = (1, 3)
_SINGLE = (4,)
"""Sizes of a last window of only one micro-batch."""


def _sizes(env: Env, windows: Sequence[Sequence[int]]) -> list[int]:
    """Return the sizes of all micro-batches; the seed decides where each window's cycle of sizes begins."""
    sizes: list[int] = []
    for window in windows:
        start = env.number("start") % len(window)
        sizes += [*window[start:], *window[:start]]
    return sizes


class _Case:
    """A model, its optimizer and its data, with a method that calls the student's function on them."""

    def __init__(
        self, stage: Stage, windows: Sequence[Sequence[int]], *, momentum: float = 0.0, states: bool = True
    ) -> None:
        self._stage, self.recorder = stage, stage.recorder
        self.model: Net = mlp(stage.env)
        self.loss_fn: LossFn = loss_function(stage.env)
        self.data: list[Batch] = batches(stage.env, _sizes(stage.env, windows))
        self.opt = sgd(self.model, momentum=momentum)
        self.recorder.watch(self.model, self.opt, batches=[xb for xb, _ in self.data], states=states)

    def accumulate(self, micro_batches: Iterable[Batch], accum_steps: int = 3) -> Any:
        """Call the student's function once with the model and optimizer of this case."""
        student = self._stage.student("accumulate_weighted")
        return self.recorder.call(student, self.model, self.opt, self.loss_fn, micro_batches, accum_steps)


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, _sizes(env, _WINDOWS)), loss_function(env))


@driver.scenario("sgd", "크기가 다른 마이크로 배치 (SGD)", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Two windows in one call, then a third in a call of its own."""
    case = _Case(stage, _WINDOWS)
    case.accumulate(case.data[:6])
    scale_rates(case.opt, 0.8)
    case.accumulate(case.data[6:])


@driver.scenario("float32", "float32 모델", check="sgd")
def _float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a call, because autocast leaves float64 alone."""
    case = _Case(stage, _WINDOWS[:1], states=False)
    case.model.float()
    case.accumulate([(xb.float(), yb) for xb, yb in case.data])
    record_precision(case.recorder, case.model)


@driver.scenario("short", "짧은 마지막 구간", check="edges")
def _short(stage: Stage) -> None:
    """A whole window; a whole one and a single micro-batch; an input shorter than a window; an empty input.

    With momentum, even an update on a gradient of zero would show.
    """
    case = _Case(stage, (_WINDOWS[0], _WINDOWS[2], _SINGLE, _SHORT), momentum=0.9)
    for part, accum_steps in ((case.data[:3], 3), (case.data[3:7], 3), (case.data[7:], 4), ([], 2)):
        case.accumulate(part, accum_steps)
        scale_rates(case.opt, 0.8)


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """The update is compared with that of the same function on a list, so a wrong update costs nothing here."""
    moved, before = [], torch.zeros(0)
    for lazily in (False, True):
        case = _Case(stage, _WINDOWS[:2], states=False)
        before = flat_weights(case.model)
        case.accumulate((batch for batch in case.data) if lazily else case.data)
        moved.append(flat_weights(case.model))
    record_alike(stage.recorder, "제너레이터와 리스트로 받았을 때의 가중치 값", moved[1], moved[0], before)


@driver.scenario("refuses", "잘못된 accum_steps", check="edges")
def _refuses(stage: Stage) -> None:
    """Also with empty input, where a check inside the loop never runs."""
    case = _Case(stage, _WINDOWS[:1], states=False)
    for data, accum_steps, when in ((case.data, 0, ""), (case.data, -2, ""), ([], 0, "빈 입력을 ")):
        given = (case.model, case.opt, case.loss_fn, data, accum_steps)
        fact = f"{when}{called_with('accum_steps', accum_steps)}"
        case.recorder.expect(ValueError, fact, stage.student("accumulate_weighted"), *given)


@driver.scenario("before", "부르기 전에 남아 있던 그레이디언트", check="leftover")
def _before(stage: Stage) -> None:
    """A gradient that is there before the call must change nothing.

    The update is compared with that of the same function on a clean model, so a wrong one costs nothing here.
    """
    moved, before = [], torch.zeros(0)
    for given in (False, True):
        case = _Case(stage, _WINDOWS[:1], states=False)
        before = flat_weights(case.model)
        if given:
            add_gradients(stage.env, case.model)
        case.accumulate(case.data)
        moved.append(flat_weights(case.model))
    record_alike(
        stage.recorder, "그레이디언트가 있던 모델과 없던 모델의 가중치 값", moved[1], moved[0], before
    )


@driver.scenario("leftover", "끝난 뒤의 그레이디언트")
def _leftover(stage: Stage) -> None:
    """The gradients left after whole windows, after a short one, and after an empty input that found a gradient."""
    case = _Case(stage, (_WINDOWS[0], _SHORT), states=False)
    before = flat_weights(case.model)
    for part in (case.data[:3], case.data, []):
        if not part:
            add_gradients(stage.env, case.model)
        case.accumulate(part)
        case.recorder.append_fact("그레이디언트가 남음", "예" if case.recorder.gradients_left() else "아니요")
    case.recorder.fact(
        "매개변수가 움직임", "예" if not torch.equal(before, flat_weights(case.model)) else "아니요"
    )


@driver.scenario("modes", "받은 모드", check="leftover")
def _modes(stage: Stage) -> None:
    """A model in each mode; two calls of one window each."""
    loss_fn, data = loss_function(stage.env), batches(stage.env, _sizes(stage.env, _WINDOWS[:2]))

    def use(model: Net) -> None:
        opt = sgd(model, momentum=0.9)
        stage.recorder.watch(model, opt, states=False)
        for part in (data[:3], data[3:]):
            stage.recorder.call(stage.student("accumulate_weighted"), model, opt, loss_fn, part, 3)

    record_modes(stage, lambda: mlp(stage.env), use, EVERY_MODE)


@driver.scenario("pieces", "한 번에 순전파한 샘플의 수")
def _pieces(stage: Stage) -> None:
    """Concatenating a window gives the right update but saves no memory, so no forward pass may exceed a micro-batch.

    The hook sits on the layers: one on the model itself would be missed by `model.forward(x)`.
    """
    case = _Case(stage, _WINDOWS[:2], states=False)
    largest = max(len(xb) for xb, _ in case.data)
    rows: list[int] = []
    weights = torch.rand(FEATURES, generator=stage.env.generator("columns"), dtype=torch.float64)
    apart: list[float] = []

    def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        samples = inputs[0].detach().cpu().reshape(-1, FEATURES)
        rows.append(len(samples))
        apart.append(float((samples @ weights).sum()) * (len(samples) <= largest))

    case.model.layers.register_forward_pre_hook(note)
    case.accumulate(case.data)
    outcome = "순전파하지 않음" if not rows else "커짐" if max(rows) > largest else "커지지 않음"
    case.recorder.fact("가장 큰 마이크로 배치보다", outcome)
    case.recorder.array("가장 큰 마이크로 배치보다", [sum(apart)])


@driver.scenario("returns", "반환값")
def _returns(stage: Stage) -> None:
    """Whole windows, whose number follows from the seed; a whole and a short one; an empty input."""
    whole = 2 + stage.env.number("whole") % 7
    case = _Case(stage, (*_WINDOWS[:1] * whole, _WINDOWS[2], _SHORT), states=False)
    for part, accum_steps in ((case.data[: 3 * whole], 3), (case.data[3 * whole :], 3), ([], 2)):
        case.recorder.returned(case.accumulate(part, accum_steps))


@driver.scenario("quiet", "화면 출력", check="returns")
def _quiet(stage: Stage) -> None:
    """Nothing may be printed."""
    case = _Case(stage, _WINDOWS[:1], states=False)
    case.accumulate(case.data)
    case.recorder.fact("print를 부름", "예" if case.recorder.prints else "아니요")


@driver.scenario("memory", "함께 살아 있는 계산 그래프", check="pieces")
def _memory(stage: Stage) -> None:
    """Two whole windows. If one is run backward once at its end, all of it is alive together."""
    case = _Case(stage, _WINDOWS[:2], states=False)
    meter = stage.recorder.measure_memory(case.model)
    case.accumulate(case.data)
    record_window_memory(stage.recorder, meter)
