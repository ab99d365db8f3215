"""Driver of `sam_accumulate_weighted`, which is `sam_accumulate` for micro-batches that differ in size.

Scenarios isolate sizes, short windows, clipping, losses, modes and gradients that are there before. What
`sam_accumulate` tests already is tested again only where sizes change the answer.
"""

from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import (
    Batch,
    Net,
    add_gradients,
    batches,
    loss_function,
    mlp,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.memory import record_window_memory
from grader.exercises.fixtures.tolerances import CLIP_ATOL, FLOAT32_ATOL, FLOAT32_UPDATES_ATOL
from grader.exercises.sam_accumulation._base_optimizers import momentum
from grader.exercises.sam_accumulation._returned import record_numbers
from grader.exercises.sam_accumulation._seen_modes import add_mode_scenarios
from grader.exercises.sam_accumulation._window_runs import WindowRun
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import items_of, type_name

driver = Driver("sam_accumulate_weighted")

_SIZES = (6, 2, 3, 1, 5, 2, 4, 1, 7, 3)
"""Samples in each micro-batch. No window below has micro-batches of one size,
nor does the first one's size equal the window's mean.
"""


def _run(stage: Stage, model: Net, base: Optimizer, data: list[Batch] | None = None) -> WindowRun:
    return WindowRun(stage, "sam_accumulate_weighted", model, base, data)


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, _SIZES[:9]), loss_function(env))


@driver.scenario("sizes", "크기가 다른 마이크로 배치", problem=_problem)
def _sizes(stage: Stage) -> None:
    """Three whole windows in two calls; the rate falls in between."""
    data = batches(stage.env, _SIZES[:9])
    model = mlp(stage.env)
    run = _run(stage, model, sgd(model), data)
    run.call(data[:6], 3)
    scale_rates(run.base, 0.8)
    run.call(data[6:], 3)


@driver.scenario("momentum", "모멘텀이 있는 base 옵티마이저", check="sizes")
def _momentum(stage: Stage) -> None:
    """Momentum in the base optimizer."""
    data = batches(stage.env, (3, 8, 2, 4))
    model = mlp(stage.env)
    _run(stage, model, momentum(model), data).call(data, 2)


@driver.scenario("float32", "float32 모델", check="sizes", atol=FLOAT32_UPDATES_ATOL)
def _single(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there."""
    data = [(xb.float(), yb) for xb, yb in batches(stage.env, (5, 2, 1, 4))]
    model = mlp(stage.env).float()
    _run(stage, model, sgd(model), data).call(data, 2)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """A clip that is clearly active in the first call, and idle in the second."""
    data = batches(stage.env, _SIZES)
    model = mlp(stage.env)
    run = _run(stage, model, sgd(model), data)
    norm = run.window_norm(data[:3])
    run.call(data[:6], 3, max_norm=0.15 * norm)
    run.call(data[6:], 2, max_norm=50.0 * norm)


@driver.scenario("leftover", "짧은 마지막 구간", check="edges")
def _leftover(stage: Stage) -> None:
    """Five micro-batches in windows of three, three in windows of two, and one where four were asked for.

    What a short window leaves behind shows in the next call.
    """
    data = batches(stage.env, _SIZES[:9])
    model = mlp(stage.env)
    run = _run(stage, model, sgd(model), data)
    for part, accum_steps in ((data[:5], 3), (data[5:8], 2), (data[8:], 4)):
        run.call(part, accum_steps)


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """Micro-batches from a generator, which can be read only once though there are two passes."""
    data = batches(stage.env, _SIZES[:6])
    model = mlp(stage.env)
    _run(stage, model, sgd(model), data).call((batch for batch in data), 3)


@driver.scenario("empty", "빈 입력", check="edges")
def _empty(stage: Stage) -> None:
    """Empty input: nothing to update, and an empty list to return."""
    model = mlp(stage.env)
    returned = _run(stage, model, sgd(model), batches(stage.env, (2,))).call([], 2)
    stage.recorder.fact("돌려준 손실의 개수", len(items_of(returned)))


@driver.scenario("clip-leftover", "짧은 마지막 구간의 클리핑", check="clip", atol=CLIP_ATOL)
def _clip_leftover(stage: Stage) -> None:
    """The clip is clearly active in the whole and in the short window."""
    data = batches(stage.env, _SIZES[:5])
    model = mlp(stage.env)
    run = _run(stage, model, sgd(model), data)
    run.call(data, 3, max_norm=0.15 * run.window_norm(data[:3]))


@driver.scenario("stale", "그레이디언트가 남아 있는 모델", check="edges")
def _stale(stage: Stage) -> None:
    """What the caller left in `.grad` must not become part of the first window."""
    data = batches(stage.env, _SIZES[:4])
    model = mlp(stage.env)
    add_gradients(stage.env, model)
    _run(stage, model, sgd(model), data).call(data, 2)


def _accumulate_in_mode(stage: Stage, model: Net) -> None:
    _run(stage, model, sgd(model)).call(batches(stage.env, (4, 2, 3, 5)), 2)


add_mode_scenarios(driver, "modes", _accumulate_in_mode)


def _unmoved(stage: Stage) -> WindowRun:
    """Return a run with learning rates of zero, so that the weights stay where they are."""
    model = mlp(stage.env)
    base = sgd(model)
    scale_rates(base, 0.0)
    return _run(stage, model, base)


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Losses of two whole windows and a short one, at unchanged weights."""
    record_numbers(stage.recorder, items_of(_unmoved(stage).call(batches(stage.env, _SIZES[:8]), 3)))


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    """The types of the returned list and of the losses in it."""
    value = _unmoved(stage).call(batches(stage.env, (3, 1)), 2)
    stage.recorder.fact("반환 타입", type_name(value))
    stage.recorder.fact("리스트에 든 값의 타입", [type_name(item) for item in items_of(value)])


@driver.scenario("memory", "함께 살아 있는 계산 그래프")
def _memory(stage: Stage) -> None:
    """Two windows of three. If one is joined, or run backward once a pass, all of it is alive together."""
    data, model = batches(stage.env, _SIZES[:6]), mlp(stage.env)
    stage.recorder.watch(model, states=False)
    meter = stage.recorder.measure_memory(model)
    _run(stage, model, sgd(model)).call(data, 3)
    record_window_memory(stage.recorder, meter)
