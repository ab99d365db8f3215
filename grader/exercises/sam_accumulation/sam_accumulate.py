"""Driver of `sam_accumulate`, which makes one SAM update for each window of micro-batches and returns window losses.

Scenarios isolate whole windows first; then short windows, generators, clipping, losses and modes. The SAM is the
fixtures' own, so that a learner's mistake in `SAM` is not counted again here.
"""

from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import (
    Batch,
    Net,
    adamw,
    batches,
    freeze_last,
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

driver = Driver("sam_accumulate", cost=1.5)

_MICRO = 3
"""Samples in every micro-batch. All are equal, so that concatenating a window is as right as looping over it."""


def _micro_batches(env: Env, count: int) -> list[Batch]:
    return batches(env, [_MICRO] * count)


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), _micro_batches(env, 14), loss_function(env))


def _run(stage: Stage, model: Net, base: Optimizer, data: list[Batch] | None = None) -> WindowRun:
    return WindowRun(stage, "sam_accumulate", model, base, data)


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Two windows of four in train mode, then two of three in eval mode;
    for this model the modes make no difference.
    """
    data = _micro_batches(stage.env, 14)
    model = mlp(stage.env)
    run = _run(stage, model, sgd(model), data)
    run.call(data[:8], 4)
    scale_rates(run.base, 0.8)
    model.eval()
    run.call(data[8:], 3)


@driver.scenario("ones", "마이크로 배치가 하나인 구간", check="sgd")
def _ones(stage: Stage) -> None:
    """Windows of one micro-batch."""
    data = _micro_batches(stage.env, 2)
    model = mlp(stage.env)
    _run(stage, model, sgd(model), data).call(data, 1)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """An active clip in the first call, an idle one in the second.

    The active one would still clip at four times the limit. A clip that always acts would hide a wrong scale, such as
    gradients that are not divided by the length of the window.
    """
    data = _micro_batches(stage.env, 8)
    model = mlp(stage.env)
    run = _run(stage, model, sgd(model), data)
    norm = run.window_norm(data[:3])
    run.call(data[:6], 3, max_norm=0.15 * norm)
    run.call(data[6:], 2, max_norm=50.0 * norm)


@driver.scenario("leftover", "짧은 마지막 구간", check="edges")
def _leftover(stage: Stage) -> None:
    """Seven micro-batches in windows of four, three in windows of two, and one where nine were asked for.

    What a short window leaves behind shows in the next call.
    """
    data = _micro_batches(stage.env, 11)
    model = mlp(stage.env)
    run = _run(stage, model, sgd(model), data)
    for part, accum_steps in ((data[:7], 4), (data[7:10], 2), (data[10:], 9)):
        run.call(part, accum_steps)


@driver.scenario("leftover-losses", "짧은 마지막 구간의 손실", check="edges", atol=FLOAT32_ATOL)
def _leftover_losses(stage: Stage) -> None:
    """Learning rates are zero, so that no update shows in a later loss."""
    record_numbers(
        stage.recorder, items_of(_run_with_zero_rates(stage).call(_micro_batches(stage.env, 7), 4))
    )


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """Micro-batches from a generator, which can be read only once though there are two passes."""
    data = _micro_batches(stage.env, 6)
    model = mlp(stage.env)
    _run(stage, model, sgd(model), data).call((batch for batch in data), 3)


@driver.scenario("empty", "빈 입력", check="edges")
def _empty(stage: Stage) -> None:
    """Empty input: nothing to update, and an empty list to return."""
    data = _micro_batches(stage.env, 1)
    model = mlp(stage.env)
    returned = _run(stage, model, sgd(model), data).call([], 2)
    stage.recorder.fact("돌려준 손실의 개수", len(items_of(returned)))


@driver.scenario("adamw", "AdamW 위의 SAM")
def _adamw(stage: Stage) -> None:
    """AdamW as the base optimizer."""
    data = _micro_batches(stage.env, 6)
    model = mlp(stage.env)
    run = _run(stage, model, adamw(model), data)
    run.call(data, 2)


@driver.scenario("together", "모멘텀, 클리핑, 짧은 구간, 제너레이터를 함께", check="adamw", atol=CLIP_ATOL)
def _together(stage: Stage) -> None:
    """Also, the last layer is in eval mode and the rate falls."""
    data = _micro_batches(stage.env, 10)
    model = mlp(stage.env)
    freeze_last(model)
    run = _run(stage, model, momentum(model), data)
    limit = 0.15 * run.window_norm(data[:3])
    for part in (data[:5], data[5:]):
        run.call((batch for batch in part), 3, max_norm=limit)
        scale_rates(run.base, 0.8)


@driver.scenario("float32", "float32 모델", check="adamw", atol=FLOAT32_UPDATES_ATOL)
def _single(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there."""
    data = [(xb.float(), yb) for xb, yb in _micro_batches(stage.env, 4)]
    model = mlp(stage.env).float()
    _run(stage, model, sgd(model), data).call(data, 2)


def _accumulate_in_mode(stage: Stage, model: Net) -> None:
    _run(stage, model, sgd(model)).call(_micro_batches(stage.env, 4), 2)


add_mode_scenarios(driver, "modes", _accumulate_in_mode)


def _run_with_zero_rates(stage: Stage) -> WindowRun:
    """Return a run with learning rates of zero, so that the weights stay where they are."""
    model = mlp(stage.env)
    base = sgd(model)
    scale_rates(base, 0.0)
    return _run(stage, model, base)


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Losses of windows at unchanged weights; then of one window on each of two fresh models.

    The fresh models are updated only after the loss is measured.
    """
    data = _micro_batches(stage.env, 10)
    losses = items_of(_run_with_zero_rates(stage).call(data[:6], 3))
    for number in range(2):
        model = mlp(stage.env, f"model {number}")
        losses += items_of(_run(stage, model, sgd(model)).call(data[6 + 2 * number : 8 + 2 * number], 2))
    record_numbers(stage.recorder, losses)


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    """The types of the returned list and of the losses in it."""
    value = _run_with_zero_rates(stage).call(_micro_batches(stage.env, 4), 2)
    stage.recorder.fact("반환 타입", type_name(value))
    stage.recorder.fact("리스트에 든 값의 타입", [type_name(item) for item in items_of(value)])


@driver.scenario("memory", "함께 살아 있는 계산 그래프")
def _memory(stage: Stage) -> None:
    """Two windows of three. If one is joined, or run backward once a pass, all of it is alive together."""
    data, model = _micro_batches(stage.env, 6), mlp(stage.env)
    stage.recorder.watch(model, states=False)
    meter = stage.recorder.measure_memory(model)
    _run(stage, model, sgd(model)).call(data, 3)
    record_window_memory(stage.recorder, meter, _MICRO)
