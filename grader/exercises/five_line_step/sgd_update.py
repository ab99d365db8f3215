"""Driver of `sgd_update`: two updates at different rates, also with parameters that have no gradient.

Afterwards the parameters must still be the model's own leaf tensors: moved in place, not replaced.
"""

import torch
from torch import nn

from grader.observe.fixtures.classifiers import batches, loss_function, mlp
from grader.observe.play import Driver, Stage

driver = Driver("sgd_update")


def _sgd_updates(stage: Stage, *, missing: bool) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    env, recorder = stage.env, stage.recorder
    model, loss_fn = mlp(env), loss_function(env)
    parameters = list(model.parameters())
    recorder.watch(model)
    for (xb, yb), lr in zip(batches(env, (6, 4)), (0.3, 0.05), strict=True):
        loss_fn(model(xb), yb).backward()
        if missing:
            parameters[1].grad = None
            parameters[2].grad = None
        before = [None if p.grad is None else p.grad.clone() for p in parameters]
        recorder.call(stage.student("sgd_update"), iter(parameters), lr)
        kept = (
            p.grad is g if p.grad is None or g is None else torch.equal(p.grad, g)
            for p, g in zip(parameters, before, strict=True)
        )
        recorder.append_fact("그레이디언트가 그대로임", all(kept))
        for parameter in parameters:
            parameter.grad = None
    return parameters, list(model.parameters())


@driver.scenario("moves", "업데이트")
def _moves(stage: Stage) -> None:
    _sgd_updates(stage, missing=False)


@driver.scenario("none", ".grad가 None인 매개변수")
def _none(stage: Stage) -> None:
    _sgd_updates(stage, missing=True)


@driver.scenario("leaves", "잎 텐서로 남기")
def _leaves(stage: Stage) -> None:
    before, after = _sgd_updates(stage, missing=False)
    stage.recorder.fact("같은 텐서", all(p is q for p, q in zip(before, after, strict=True)))
    stage.recorder.fact("잎(leaf) 텐서", all(p.is_leaf for p in after))
    stage.recorder.fact("requires_grad", all(p.requires_grad for p in after))
