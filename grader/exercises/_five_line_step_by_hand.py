"""Drivers of lesson 01, last part: `zero_gradients` and `sgd_update` by hand, and a walk along the graph."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from grader.observe.fixtures.classifiers import Batch, LossFn, Net, batches, loss_function, mlp
from grader.observe.play import Driver, Env, Scenario, Stage
from grader.observe.recorder import type_name
from grader.observe.trace import Fact

# ---- by hand -------------------------------------------------------------------------------------


def _with_gradients(env: Env) -> Net:
    model = mlp(env)
    (batch,) = batches(env, (6,))
    loss_function(env)(model(batch[0]), batch[1]).backward()
    return model


def _gradients_left(parameters: Iterable[nn.Parameter]) -> list[Fact]:
    return [p.grad is not None and bool(p.grad.ne(0).any()) for p in parameters]


def next_gradients(model: nn.Module, loss_fn: LossFn, batch: Batch) -> Tensor:
    """What the next backward pass leaves in `.grad` (then cleared): numbers nobody can know beforehand."""
    loss_fn(model(batch[0]), batch[1]).backward()
    flat = torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).ravel() for p in model.parameters()]
    )
    for parameter in model.parameters():
        parameter.grad = None
    return flat.detach()


def _record_next_gradients(stage: Stage, model: nn.Module) -> None:
    (batch,) = batches(stage.env, (4,), "next")
    stage.recorder.fact("requires_grad", all(p.requires_grad for p in model.parameters()))
    stage.recorder.array("gradients", next_gradients(model, loss_function(stage.env), batch))


def _zero_gradients_clears(stage: Stage) -> None:
    recorder = stage.recorder
    model = _with_gradients(stage.env)
    recorder.watch(model)
    recorder.call(stage.student("zero_gradients"), model.parameters())
    recorder.fact("매개변수마다 그레이디언트가 남음", _gradients_left(model.parameters()))
    _record_next_gradients(stage, model)


def _zero_gradients_none(stage: Stage) -> None:
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


def _sgd_update_moves(stage: Stage) -> None:
    _sgd_updates(stage, missing=False)


def _sgd_update_none(stage: Stage) -> None:
    _sgd_updates(stage, missing=True)


def _sgd_update_leaves(stage: Stage) -> None:
    before, after = _sgd_updates(stage, missing=False)
    stage.recorder.fact("같은 텐서", all(p is q for p, q in zip(before, after, strict=True)))
    stage.recorder.fact("잎(leaf) 텐서", all(p.is_leaf for p in after))
    stage.recorder.fact("requires_grad", all(p.requires_grad for p in after))


# ---- autograd_nodes ------------------------------------------------------------------------------


_OPERATIONS = (
    torch.sin,
    torch.cos,
    torch.exp,
    torch.tanh,
    torch.sigmoid,
    torch.abs,
    torch.erf,
    torch.atan,
    torch.relu,
    torch.neg,
    nn.functional.softplus,
    nn.functional.silu,
    nn.functional.gelu,
    nn.functional.elu,
)
"""Each leaves a node of its own kind. Which of them a graph holds follows from the seed."""


def _drawn(env: Env, count: int, salt: str) -> list[Any]:
    order = torch.randperm(len(_OPERATIONS), generator=env.generator(salt))
    return [_OPERATIONS[number] for number in order[:count].tolist()]


def _leaf(env: Env, salt: str, *shape: int) -> Tensor:
    values = torch.randn(*shape, generator=env.generator(salt), dtype=torch.float64)
    return values.to(env.device).requires_grad_()


def _chain_graph(env: Env, model: Net) -> Tensor:
    """A model's loss, with operations of the seed's choosing between model and loss."""
    (batch,) = batches(env, (4,))
    outputs = model(batch[0])
    for operation in _drawn(env, 3, "chain"):
        outputs = operation(outputs)
    return loss_function(env)(outputs, batch[1])


def _branching_graph(env: Env) -> Tensor:
    """Two branches that join, one of them shared: the second parent leads to nodes the first one never meets."""
    a, b, c = (_leaf(env, name, 3, 3) for name in "abc")
    first, second, third, fourth, last = _drawn(env, 5, "branches")
    shared = first(a) * 2.0
    left = second(shared) + shared.t()
    right = fourth(third(b @ c))
    joined: Tensor = last(torch.cat([left * left, right])).sum() + (shared / (c**2 + 1)).mean()
    return joined


def _deep_graph(env: Env) -> Tensor:
    x: Tensor = _leaf(env, "deep", 2)
    (operation,) = _drawn(env, 1, "deep")
    for number in range(240):  # each second one leaves two nodes
        x = x * 0.99 if number % 2 else operation(x).clamp(-3.0, 3.0)
    return x.sum()


def _autograd_nodes(stage: Stage, *graphs: Tensor) -> None:
    for number, loss in enumerate(graphs):
        names = stage.recorder.call(stage.student("autograd_nodes"), loss)
        is_list = isinstance(names, list)
        stage.recorder.fact(f"{number + 1}번째 그래프의 반환 타입", type_name(names))
        listed = [str(name)[:200] for name in names][:600] if is_list else []
        # The order apart from the names: that of `list(set)` differs from one process to the next.
        stage.recorder.fact(f"{number + 1}번째 그래프의 노드", [*sorted(listed)])
        stage.recorder.fact(f"{number + 1}번째 그래프의 노드가 정렬됨", listed == sorted(listed))


def _autograd_nodes_chain(stage: Stage) -> None:
    """Looking at a graph leaves no gradient on its leaves."""
    model = mlp(stage.env)
    _autograd_nodes(stage, _chain_graph(stage.env, model))
    stage.recorder.fact("그레이디언트가 생김", any(p.grad is not None for p in model.parameters()))


def _autograd_nodes_branches(stage: Stage) -> None:
    _autograd_nodes(stage, _branching_graph(stage.env))


def _autograd_nodes_edges(stage: Stage) -> None:
    """A deep graph, a loss without a graph, and a bare parameter (a leaf has no `grad_fn` either)."""
    plain = torch.tensor(1.0, dtype=torch.float64, device=stage.env.device)
    leaf = plain.clone().requires_grad_()
    _autograd_nodes(stage, _deep_graph(stage.env), plain, leaf)


DRIVERS = (
    Driver(
        "zero_gradients",
        (
            Scenario("clears", "그레이디언트 비우기", _zero_gradients_clears),
            Scenario("none", ".grad가 None인 매개변수", _zero_gradients_none),
        ),
    ),
    Driver(
        "sgd_update",
        (
            Scenario("moves", "업데이트", _sgd_update_moves),
            Scenario("none", ".grad가 None인 매개변수", _sgd_update_none),
            Scenario("leaves", "잎 텐서로 남기", _sgd_update_leaves),
        ),
    ),
    Driver(
        "autograd_nodes",
        (
            Scenario("chain", "한 줄로 이어진 그래프", _autograd_nodes_chain),
            Scenario("branches", "갈라졌다 만나는 그래프", _autograd_nodes_branches),
            Scenario("edges", "깊은 그래프와 그래프가 없는 손실", _autograd_nodes_edges),
        ),
    ),
)
