"""Driver of `fit`, which trains for some epochs and returns each epoch's training loss, a mean over samples.

Scenarios isolate updates, epoch losses, the train mode that each epoch must set, loaders without a length, and
`zero_grad=False`. The last batch is small, which shows an epoch loss that is a mean over batches instead of samples.
The number of epochs follows from the seed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from grader.exercises.five_line_step._returned import record_sequence
from grader.exercises.fixtures.classifiers import (
    Batch,
    Loader,
    SizedLoader,
    adamw,
    batches,
    loss_function,
    mlp,
    norm_dropout_mlp,
    set_modes,
    sgd,
)
from grader.exercises.fixtures.marks import ForwardMarks
from grader.exercises.fixtures.memory import record_loop_memory
from grader.exercises.fixtures.precision import record_precision
from grader.exercises.fixtures.tolerances import FLOAT32_ATOL
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number, items_of, type_name
from grader.observe.wording import left_by

driver = Driver("fit")

FIT_SIZES = (4, 4, 4, 1)


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, FIT_SIZES), loss_function(env))


def _epochs(env: Env) -> int:
    """Return the number of epochs: three or four, by the seed."""
    return 3 + env.number("epochs") % 2


def _fit(stage: Stage, *, epochs: int, **extra: Any) -> None:
    """Call the student's function once with SGD and record the updates."""
    problem = _problem(stage.env)
    opt = sgd(problem.model)
    stage.recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    loader = SizedLoader(problem.batches)
    stage.recorder.call(stage.student("fit"), problem.model, opt, problem.loss_fn, loader, epochs, **extra)


@driver.scenario("sgd", "SGD", problem=_problem)
def _sgd(stage: Stage) -> None:
    _fit(stage, epochs=_epochs(stage.env))


@driver.scenario("float32", "float32 모델", check="sgd")
def _float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a call, because autocast leaves float64 alone."""
    problem, recorder = _problem(stage.env), stage.recorder
    model = problem.model.float()
    recorder.watch(model, states=False)
    loader = SizedLoader([(xb.float(), yb) for xb, yb in problem.batches[:2]])
    recorder.call(stage.student("fit"), model, sgd(model), problem.loss_fn, loader, 1)
    record_precision(recorder, model)


@driver.scenario("adamw", "AdamW와 에폭마다 다른 순서", atol=FLOAT32_ATOL)
def _adamw(stage: Stage) -> None:
    """The batches come in another order each epoch.

    The order follows from the number of updates so far: a function that reads the loader once more, only to count its
    samples, does not change it.
    """
    problem, recorder = _problem(stage.env), stage.recorder
    opt = adamw(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    taken: list[None] = []
    opt.register_step_post_hook(lambda *_: taken.append(None))
    loader = SizedLoader(problem.batches, turn=lambda: len(taken) // len(FIT_SIZES))
    given = (problem.model, opt, problem.loss_fn, loader, _epochs(stage.env))
    record_sequence(recorder, recorder.call(stage.student("fit"), *given))


@driver.scenario("modes", "에폭마다 학습 모드")
def _modes(stage: Stage) -> None:
    """The model comes in eval mode, or partly so, and the loader puts it into eval mode again after each epoch."""
    env, recorder = stage.env, stage.recorder
    numbers: list[float] = []
    for mode in ("eval", "frozen", "top"):
        model = norm_dropout_mlp(env, mode)
        set_modes(model, mode)
        marks = ForwardMarks(env, model)
        recorder.watch(model, states=False)
        loader = SizedLoader(batches(env, (4, 3)), after=model.eval)
        recorder.call(stage.student("fit"), model, sgd(model), loss_function(env), loader, 2)
        numbers += marks.modes()
    recorder.fact("순전파할 때의 모드", [*recorder.forwards.modes])
    recorder.array("순전파할 때의 모드", numbers)


@driver.scenario("modes-after", "끝난 뒤의 모드", check="modes")
def _modes_after(stage: Stage) -> None:
    """The model must be left in train mode."""
    recorder, model = stage.recorder, mlp(stage.env)
    marks = ForwardMarks(stage.env, model)
    recorder.watch(model, states=False)
    ((xb, yb),) = batches(stage.env, (4,))
    loader = SizedLoader([(xb, yb)])
    recorder.call(stage.student("fit"), model, sgd(model), loss_function(stage.env), loader, 1)
    after = left_by("학습 모드")
    recorder.fact(after, mode_words(model))
    recorder.array(after, marks.modes_left(model, xb))


class _EpochLoader(Loader):
    """A loader with different batches each epoch, of the same sizes.

    The epoch follows from the number of forward passes so far, so that reading the loader once more, only to count its
    samples, changes nothing.
    """

    def __init__(self, epochs: Sequence[Sequence[Batch]], forward_passes: Callable[[], int]) -> None:
        super().__init__(epochs[0])
        self._epochs = epochs
        self._forward_passes = forward_passes

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._forward_passes() // len(self.held)
        yield from self._epochs[min(epoch, len(self._epochs) - 1)]

    def __len__(self) -> int:
        return len(self.held)


def _losses_without_updates(stage: Stage) -> Any:
    """Call the student's function with learning rates of 0, and return its result.

    The model never moves, so a wrong update changes no loss. Each epoch has different batches.
    """
    env, recorder = stage.env, stage.recorder
    model = mlp(env)
    opt = sgd(model)
    for group in opt.param_groups:
        group["lr"] = 0.0
    recorder.watch(model, opt, states=False)
    epochs = [batches(env, FIT_SIZES, f"epoch {number}") for number in range(3)]
    loader = _EpochLoader(epochs, lambda: len(recorder.forward_modes))
    return recorder.call(stage.student("fit"), model, opt, loss_function(env), loader, 2 + env.number() % 2)


@driver.scenario("losses", "에폭 손실", atol=FLOAT32_ATOL)
def _losses(stage: Stage) -> None:
    """The epoch losses of a model that does not move."""
    history = _losses_without_updates(stage)
    items = items_of(history)[:50]
    stage.recorder.array("에폭 손실", torch.tensor([as_number(item) for item in items], dtype=torch.float64))


@driver.scenario("types", "반환 타입", check="losses")
def _types(stage: Stage) -> None:
    """The types of the returned list and of the losses in it."""
    history = _losses_without_updates(stage)
    items = history if isinstance(history, list | tuple) else []
    kinds = sorted({type_name(item) for item in items})
    stage.recorder.fact("반환 타입", [type_name(history), *kinds])


@driver.scenario("length", "길이가 없는 loader", check="losses")
def _length(stage: Stage) -> None:
    """A loader without a length must be enough."""
    model = mlp(stage.env)
    given = (model, sgd(model), loss_function(stage.env), Loader(batches(stage.env, (4, 1))), 1)
    # Recorded as a fact, not as a failure: feedback then names the mistake behind it (a mean over `len(loader)`), not
    # the TypeError.
    stage.recorder.expect(TypeError, "길이가 없는 loader", stage.student("fit"), *given)


@driver.scenario("quiet", "화면 출력", check="losses")
def _quiet(stage: Stage) -> None:
    """Nothing may be printed."""
    model = mlp(stage.env)
    given = (model, sgd(model), loss_function(stage.env), SizedLoader(batches(stage.env, (4, 1))), 2)
    stage.recorder.call(stage.student("fit"), *given)
    stage.recorder.fact("print를 부름", "예" if stage.recorder.prints else "아니요")


@driver.scenario("never-clears", "zero_grad=False", problem=_problem)
def _never_clears(stage: Stage) -> None:
    """No gradients are cleared, not even after the last update, so some must be left."""
    _fit(stage, epochs=2, zero_grad=False)
    stage.recorder.fact(
        "끝난 뒤에 그레이디언트가 남음", "예" if stage.recorder.gradients_left() else "아니요"
    )


@driver.scenario("memory", "살아 있는 계산 그래프")
def _memory(stage: Stage) -> None:
    """Losses that are kept with their graphs pile up batch by batch."""
    model, loader = mlp(stage.env), SizedLoader(batches(stage.env, [2] * 7))
    stage.recorder.watch(model, states=False)
    meter = stage.recorder.measure_memory(model)
    stage.recorder.call(stage.student("fit"), model, sgd(model), loss_function(stage.env), loader, 2)
    record_loop_memory(stage.recorder, meter)
