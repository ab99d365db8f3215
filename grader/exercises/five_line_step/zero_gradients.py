"""Driver of `zero_gradients`: parameters that all have a gradient, then one without, then a backward pass.

The backward pass shows what was really left: an old gradient would be added to the new one.
"""

from collections.abc import Iterable

from torch import nn

from grader.exercises.five_line_step._gradients import next_gradients
from grader.observe.fixtures.classifiers import Net, batches, loss_function, mlp
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact

driver = Driver("zero_gradients")


def _with_gradients(env: Env) -> Net:
    model = mlp(env)
    (batch,) = batches(env, (6,))
    loss_function(env)(model(batch[0]), batch[1]).backward()
    return model


def _gradients_left(parameters: Iterable[nn.Parameter]) -> list[Fact]:
    return [p.grad is not None and bool(p.grad.ne(0).any()) for p in parameters]


def _record_next_gradients(stage: Stage, model: nn.Module) -> None:
    (batch,) = batches(stage.env, (4,), "next")
    stage.recorder.fact("requires_grad", all(p.requires_grad for p in model.parameters()))
    stage.recorder.array("gradients", next_gradients(model, loss_function(stage.env), batch))


@driver.scenario("clears", "그레이디언트 비우기")
def _clears(stage: Stage) -> None:
    recorder = stage.recorder
    model = _with_gradients(stage.env)
    recorder.watch(model)
    recorder.call(stage.student("zero_gradients"), model.parameters())
    recorder.fact("매개변수마다 그레이디언트가 남음", _gradients_left(model.parameters()))
    _record_next_gradients(stage, model)


@driver.scenario("none", ".grad가 None인 매개변수")
def _none(stage: Stage) -> None:
    """A parameter without a gradient beside others with one."""
    recorder = stage.recorder
    model = _with_gradients(stage.env)
    parameters = list(model.parameters())
    parameters[1].grad = None
    recorder.watch(model)
    recorder.call(stage.student("zero_gradients"), parameters)
    recorder.fact("매개변수마다 그레이디언트가 남음", _gradients_left(parameters))
    recorder.fact("None이던 .grad", "None" if parameters[1].grad is None else "텐서")
    _record_next_gradients(stage, model)
