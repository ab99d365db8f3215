"""Driver of `autograd_nodes`: a chain, branches that join, a deep graph, and losses without a graph.

Which operations a graph holds follows from the seed, so that its names cannot be written down beforehand.
"""

from typing import Any

import torch
from torch import Tensor, nn

from grader.observe.fixtures.classifiers import Net, batches, loss_function, mlp
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import type_name

driver = Driver("autograd_nodes")

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
        # Names and order are two facts, because the order of `list(set)` differs from one process to the next.
        stage.recorder.fact(f"{number + 1}번째 그래프의 노드", [*sorted(listed)])
        stage.recorder.fact(f"{number + 1}번째 그래프의 노드가 정렬됨", listed == sorted(listed))


@driver.scenario("chain", "한 줄로 이어진 그래프")
def _chain(stage: Stage) -> None:
    """Looking at a graph leaves no gradient on its leaves."""
    model = mlp(stage.env)
    _autograd_nodes(stage, _chain_graph(stage.env, model))
    stage.recorder.fact("그레이디언트가 생김", any(p.grad is not None for p in model.parameters()))


@driver.scenario("branches", "갈라졌다 만나는 그래프")
def _branches(stage: Stage) -> None:
    _autograd_nodes(stage, _branching_graph(stage.env))


@driver.scenario("edges", "깊은 그래프와 그래프가 없는 손실")
def _edges(stage: Stage) -> None:
    """A deep graph, a loss without a graph, and a bare parameter (a leaf has no `grad_fn` either)."""
    plain = torch.tensor(1.0, dtype=torch.float64, device=stage.env.device)
    leaf = plain.clone().requires_grad_()
    _autograd_nodes(stage, _deep_graph(stage.env), plain, leaf)
