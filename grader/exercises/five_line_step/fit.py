"""Driver of `fit`: three or four epochs over batches with a small last one, and a model that starts in eval mode.

The small batch shows an epoch loss that is a mean over batches instead of samples. The number of epochs follows
from the seed.
"""

from typing import Any

import torch

from grader.exercises.five_line_step._returned import record_sequence
from grader.exercises.five_line_step._tolerances import FLOAT32_ATOL
from grader.observe.fixtures.classifiers import (
    Loader,
    SizedLoader,
    adamw,
    batches,
    buffers,
    loss_function,
    mlp,
    norm_dropout_mlp,
    sgd,
)
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("fit")

FIT_SIZES = (4, 4, 4, 1)


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, FIT_SIZES), loss_function(env))


def _fit(stage: Stage, make_optimizer: Any, *, zero_grad: bool = True, record_returns: bool = False) -> None:
    problem, recorder = _problem(stage.env), stage.recorder
    opt = make_optimizer(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    extra = {} if zero_grad else {"zero_grad": False}
    loader = SizedLoader(problem.batches)
    epochs = 3 + stage.env.number("epochs") % 2
    history = recorder.call(
        stage.student("fit"), problem.model, opt, problem.loss_fn, loader, epochs, **extra
    )
    if record_returns:
        record_sequence(recorder, history)
        student, other = stage.student("fit"), mlp(stage.env, "without length")
        given = (other, make_optimizer(other), problem.loss_fn, Loader(problem.batches[2:]), 1)
        # A fact and no failure: feedback tells the mistake behind it (a mean over `len(loader)`), not the TypeError.
        recorder.expect(TypeError, "길이가 없는 loader", student, *given)


@driver.scenario("sgd", "SGD", problem=_problem)
def _sgd(stage: Stage) -> None:
    _fit(stage, sgd)


@driver.scenario("adamw", "AdamW")
def _adamw(stage: Stage) -> None:
    """The batches come in another order each epoch. The order follows from the number of updates so far: a
    function that goes through the loader once more, only to count its samples, does not change it."""
    problem, recorder = _problem(stage.env), stage.recorder
    opt = adamw(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    taken: list[None] = []
    opt.register_step_post_hook(lambda *_: taken.append(None))
    loader = SizedLoader(problem.batches, turn=lambda: len(taken) // len(FIT_SIZES))
    epochs = 3 + stage.env.number("epochs") % 2
    recorder.call(stage.student("fit"), problem.model, opt, problem.loss_fn, loader, epochs)


@driver.scenario("modes", "에폭마다 학습 모드")
def _modes(stage: Stage) -> None:
    """The model comes in eval mode, and the loader puts it into eval mode again after each epoch."""
    env, recorder = stage.env, stage.recorder
    model = norm_dropout_mlp(env)
    model.eval()
    opt = sgd(model)
    recorder.watch(model, opt)
    loader = SizedLoader(batches(env, (4, 4, 3)), after=model.eval)
    torch.manual_seed(env.number("dropout"))
    recorder.call(stage.student("fit"), model, opt, loss_function(env), loader, 2)
    recorder.array("buffers", buffers(model))
    left_alone = mlp(env, "left alone")
    recorder.watch(left_alone)
    data = SizedLoader(batches(env, (4,)))
    recorder.call(stage.student("fit"), left_alone, sgd(left_alone), loss_function(env), data, 1)
    recorder.modes("학습 모드로 받은 모델의 끝난 뒤의 모드")


@driver.scenario("losses", "에폭 손실", atol=FLOAT32_ATOL)
def _losses(stage: Stage) -> None:
    _fit(stage, sgd, record_returns=True)


@driver.scenario("never-clears", "zero_grad=False", problem=_problem)
def _never_clears(stage: Stage) -> None:
    _fit(stage, sgd, zero_grad=False)
