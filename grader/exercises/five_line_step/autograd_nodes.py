"""Driver of `autograd_nodes`, which returns the sorted names of all graph nodes reachable from `loss.grad_fn`.

Promises of the exercise, and the scenarios that check them:
    all nodes that `next_functions` leads to: `chain`, `branches`, `frozen`, `edges` (a deep graph)
    class names, each once, sorted: `types`
    an empty list for a loss without a graph: `no-graph`
    an answer in reasonable time, whatever the number of paths: `diamonds`

The seed decides which operations a graph consists of, so that the names of its nodes cannot be written down beforehand.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.five_line_step._diamond_graph import MAX_QUESTIONS, DiamondGraph
from grader.exercises.fixtures.classifiers import Net, batches, loss_function, mlp
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import type_name
from grader.observe.wording import yes_or_no

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
"""Operations of which each leaves a graph node of its own kind."""
_MAX_NAME_CHARS, _MAX_NAMES, _MAX_ITEMS = 200, 100, 600
"""Limits for what a wrong program returns: characters of a name, distinct names that are recorded, items of a list that
are looked at. Right programs stay far below: they return a few short names."""


def _draw_operations(env: Env, count: int, salt: str) -> list[Any]:
    """Return `count` different operations, which the seed and `salt` decide."""
    order = torch.randperm(len(_OPERATIONS), generator=env.generator(salt))
    return [_OPERATIONS[number] for number in order[:count].tolist()]


def _make_leaf(env: Env, salt: str, *shape: int) -> Tensor:
    """Return a tensor of random numbers that requires a gradient."""
    values = torch.randn(*shape, generator=env.generator(salt), dtype=torch.float64)
    return values.to(env.device).requires_grad_()


def _chain_graph(env: Env, model: Net) -> Tensor:
    """Return the loss of a model, with three drawn operations between the model and the loss function."""
    ((inputs, labels),) = batches(env, (4,))
    outputs = model(inputs)
    for operation in _draw_operations(env, 3, "chain"):
        outputs = operation(outputs)
    return loss_function(env)(outputs, labels)


def _branching_graph(env: Env) -> Tensor:
    """Return a loss at which two branches meet, which both use the tensor `shared`.

    The second branch has nodes of its own, which a walk misses if it follows only the first of each node's next nodes.
    """
    a, b, c = (_make_leaf(env, name, 3, 3) for name in "abc")
    first, second, third, fourth, last = _draw_operations(env, 5, "branches")
    shared = first(a) * 2.0
    left = second(shared) + shared.t()
    right = fourth(third(b @ c))
    loss: Tensor = last(torch.cat([left * left, right])).sum() + (shared / (c**2 + 1)).mean()
    return loss


def _deep_graph(env: Env) -> Tensor:
    """Return a loss at the end of a chain of some 225 nodes."""
    x: Tensor = _make_leaf(env, "deep", 2)
    (operation,) = _draw_operations(env, 1, "deep")
    for number in range(150):  # every second round leaves two nodes
        x = x * 0.99 if number % 2 else operation(x).clamp(-3.0, 3.0)
    return x.sum()


def _distinct_names(value: object) -> list[str]:
    """Return the distinct names in a returned list, tuple or set, sorted; an empty list for any other value.

    The type of the collection and its order are judged in the scenario `types` only.
    """
    items: Iterable[Any] = value if isinstance(value, list | tuple | set | frozenset) else ()
    return sorted({str(name)[:_MAX_NAME_CHARS] for name in items})[:_MAX_NAMES]


def _call(stage: Stage, loss: Tensor) -> object:
    """Call the learner's function, and return what it returned."""
    return stage.recorder.call(stage.student("autograd_nodes"), loss)


@driver.scenario("chain", "한 줄로 이어진 그래프")
def _chain(stage: Stage) -> None:
    """Ask twice for the nodes of a model's loss; record both answers, and whether there are gradients afterwards.

    A program that calls `backward()` leaves gradients; one that remembers visited nodes between calls misses them in
    the second call.
    """
    model = mlp(stage.env)
    loss = _chain_graph(stage.env, model)
    stage.recorder.fact("노드", [*_distinct_names(_call(stage, loss))])
    stage.recorder.fact("같은 손실로 다시 부르면", [*_distinct_names(_call(stage, loss))])
    has_gradients = any(p.grad is not None for p in model.parameters())
    stage.recorder.fact("그레이디언트가 생김", yes_or_no(has_gradients))


@driver.scenario("types", "반환값의 모양", check="chain")
def _types(stage: Stage) -> None:
    """Record the returned value's type and its items' types, and whether the names are sorted and distinct.

    A program that returns a set, leaves the names unsorted or repeats one shows here.

    The order itself is not recorded, because that of `list(set)` differs between processes. From the loss, a walk meets
    nine nodes of different names; only the tenth repeats one. So there are names to sort even for a program that stops
    there.
    """
    loss = _chain_graph(stage.env, mlp(stage.env)) * 2.0
    for operation in _draw_operations(stage.env, 8, "types"):
        loss = operation(loss)
    names = _call(stage, loss * 3.0)
    listed = [str(name)[:_MAX_NAME_CHARS] for name in names][:_MAX_ITEMS] if isinstance(names, list) else []
    stage.recorder.fact("반환 타입", [type_name(names), *sorted({type_name(name) for name in listed})])
    if isinstance(names, list):
        stage.recorder.fact("정렬됨", yes_or_no(listed == sorted(listed)))
        stage.recorder.fact("같은 이름이 두 번 나옴", yes_or_no(len(listed) > len(set(listed))))


@driver.scenario("branches", "갈라졌다 만나는 그래프")
def _branches(stage: Stage) -> None:
    """Ask for the nodes of a graph that parts and joins again.

    A program that follows only the first entry of `next_functions` misses the second branch.
    """
    stage.recorder.fact("노드", [*_distinct_names(_call(stage, _branching_graph(stage.env)))])


@driver.scenario("frozen", "얼린 매개변수가 있는 그래프", check="branches")
def _frozen(stage: Stage) -> None:
    """Ask for the nodes of a graph in which all biases are frozen.

    A frozen parameter has None in `next_functions`, and a frozen bias comes before its weight there. A program that
    stops at None misses the nodes behind the weight.
    """
    model = mlp(stage.env)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.requires_grad_(False)
    stage.recorder.fact("노드", [*_distinct_names(_call(stage, _chain_graph(stage.env, model)))])


@driver.scenario("diamonds", "갈라졌다 만나기를 40번 되풀이하는 그래프", check="branches")
def _diamonds(stage: Stage) -> None:
    """Ask for the nodes of a graph that parts and joins again 40 times in a row.

    A program that does not remember visited nodes would follow 2**40 paths. So the graph counts how often its nodes are
    asked for their next nodes; after too many questions they have none, so that the program ends (`_diamond_graph.py`).
    """
    graph = DiamondGraph(stage.env)
    stage.recorder.fact("노드", [*_distinct_names(_call(stage, graph.loss))])
    stage.recorder.fact(
        "노드마다 다음 노드를 물어본 횟수",
        "몇 번" if graph.questions_asked <= MAX_QUESTIONS else "너무 많아서 멈춤",
    )


@driver.scenario("edges", "깊은 그래프")
def _edges(stage: Stage) -> None:
    """Ask for the nodes of a deep graph.

    A program that stops at some depth misses nodes. The graph is not too deep for recursion, which is right too.
    """
    stage.recorder.fact("노드", [*_distinct_names(_call(stage, _deep_graph(stage.env)))])


@driver.scenario("no-graph", "그래프가 없는 손실", check="edges")
def _no_graph(stage: Stage) -> None:
    """Give losses without a graph, and record what is returned.

    A program that reads `loss.grad_fn.next_functions` at once raises, because `grad_fn` is None without a graph.
    """
    plain = torch.tensor(1.0, dtype=torch.float64, device=stage.env.device)
    for what, loss in (("그래프가 없는 손실", plain), ("잎(leaf) 텐서", plain.clone().requires_grad_())):
        value = _call(stage, loss)
        stage.recorder.fact(what, [*_distinct_names(value)] if value is not None else "None")
