"""Driver of `weight_decay_groups`, which splits a model's parameters into a group with weight decay and one without.

Promises of the exercise, and the scenarios that check them:
    parameters of two or more dimensions decay, embeddings too, and the others do not: `kinds`, `scalar`, `embedding`
    the first group decays, and each group keeps the order of `model.parameters()`: `order`
    each group says its decay, also if the given one is 0: `values`
    frozen parameters are in no group: `frozen`; shared ones are in one group once: `tied`
    empty groups are left out: `empty`

Each scenario uses a small model that shows one of these rules. The models' classes are named like models and not after
the rule: learners may read the name in the message of an exception.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.witnesses import seeded_number
from grader.observe.play import Driver, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number

driver = Driver("weight_decay_groups")

_NOT_OF_MODEL = "(모델의 매개변수가 아님)"
"""Takes the place of the name of a tensor that is no parameter of the model."""


class _Mixer(nn.Module):
    """A model with parameters of each kind, some of them named like another kind.

    Its `BatchNorm1d` has buffers too, which are no parameters.
    """

    def __init__(self) -> None:
        super().__init__()
        self.norm_mix = nn.Linear(3, 4)  # a weight, named like a norm
        self.gain = nn.Parameter(torch.ones(4))  # a vector, named neither like a bias nor like a norm
        self.filter = nn.Conv1d(4, 2, 3)
        self.bias_table = nn.Parameter(torch.zeros(2, 2))  # a weight, named like a bias
        self.batch = nn.BatchNorm1d(2)
        self.plane = nn.LayerNorm((2, 3))  # a norm whose gain and bias have two dimensions
        self.score = nn.Linear(3, 1)  # a weight of one row
        self.single = nn.Linear(1, 1)  # a weight of one element
        self.temperature = nn.Parameter(torch.tensor(1.0))


class _Reader(nn.Module):
    """A model with embeddings: a table of characters, and positions as a tensor of three dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.position = nn.Parameter(torch.zeros(1, 3, 4))
        self.head = nn.Linear(4, 5)


class _Tied(nn.Module):
    """A model whose last layer shares its weight with the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.character = nn.Embedding(5, 4)
        self.middle = nn.Linear(4, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.character.weight


class _Nested(nn.Module):
    """A model whose parameters come in another order than their names sorted: `start` first, `a_last` last."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(2, 3)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3)) for _ in range(11))
        self.a_norm = nn.LayerNorm(3)
        self.a_last = nn.Linear(3, 2)
        self.start = nn.Parameter(torch.zeros(1, 2))


def _drawn_decay(stage: Stage) -> float:
    """Return the weight decay that the scenario gives, drawn from 0.05 to 0.5: no default of AdamW or SGD."""
    return round(stage.env.draw("decay").real(0.05, 0.5), 3)


def _call(stage: Stage, model: nn.Module, weight_decay: float | None = None) -> list[dict[str, Any]]:
    """Call the learner's function and return its groups, each with its tensors as a list.

    An optimizer takes groups in several forms (see `_tensors`). All of them are right.

    Args:
        stage: the scenario's stage.
        model: the model whose parameters are grouped.
        weight_decay: the second argument; None: `_drawn_decay`.
    """
    if weight_decay is None:
        weight_decay = _drawn_decay(stage)
    groups = stage.recorder.call(stage.student("weight_decay_groups"), model, weight_decay)
    return [{**group, "params": _tensors(group["params"])} for group in groups]


def _tensors(params: Any) -> list[Any]:
    """Return the tensors of a group's `params`: one tensor, an iterable of tensors, or pairs of name and tensor."""
    if isinstance(params, Tensor):
        return [params]
    return [item[1] if isinstance(item, tuple) else item for item in params]


def _name_of(tensor: Any, model: nn.Module) -> str:
    """Return a parameter's name in the model, or `_NOT_OF_MODEL` for any other tensor."""
    return next((name for name, own in model.named_parameters() if own is tensor), _NOT_OF_MODEL)


def _record_decays(stage: Stage, model: nn.Module, names: Sequence[str]) -> None:
    """Record for each of the named parameters, once for each group it is in, whether it decays.

    It decays if the group has the weight decay that was given. A group without `weight_decay` counts as one that does
    not decay, because the scenario `values` judges how a decay of zero is written. Of tensors that are no parameters of
    the model, only the number is recorded.
    """
    groups = _call(stage, model)
    given = _drawn_decay(stage)
    for name, parameter in model.named_parameters():
        if name in names:
            decay_by_group = [
                bool(group.get("weight_decay", 0.0) == given)
                for group in groups
                for tensor in group["params"]
                if tensor is parameter
            ]
            words: list[Fact] = ["감쇠함" if decays else "감쇠하지 않음" for decays in decay_by_group]
            witness = [given * decays for decays in decay_by_group]
            stage.recorder.claim(name, words or "어느 그룹에도 없음", witness)
    foreign = sum(_name_of(tensor, model) == _NOT_OF_MODEL for group in groups for tensor in group["params"])
    stage.recorder.fact("모델의 매개변수가 아닌 텐서", foreign)


def _fill_from_seed(stage: Stage, model: nn.Module) -> None:
    """Fill each parameter with one number that follows from the seed and its name."""
    for name, parameter in model.named_parameters():
        parameter.detach().fill_(seeded_number(stage.env, name))


def _record_memberships(stage: Stage, model: nn.Module) -> None:
    """Record how many times each parameter is in the groups.

    The witness lists the sum of the parameter's elements, once for each of these times.
    """
    _fill_from_seed(stage, model)
    grouped = [tensor for group in _call(stage, model) for tensor in group["params"]]
    for name, parameter in model.named_parameters():
        sums = [float(tensor.detach().sum()) for tensor in grouped if tensor is parameter]
        stage.recorder.claim(f"{name}: 그룹에 든 횟수", len(sums), sums)


@driver.scenario("kinds", "가중치와 나머지")
def _kinds(stage: Stage) -> None:
    """Record which parameters with one or more dimensions decay, in a model whose names mislead.

    A wrong program goes by names or by layers, or lets everything decay, or only tensors of exactly two dimensions.
    """
    names = [name for name, _ in _Mixer().named_parameters() if name != "temperature"]
    _record_decays(stage, _Mixer(), names)


@driver.scenario("scalar", "차원이 없는 매개변수", check="kinds")
def _scalar(stage: Stage) -> None:
    """Record whether a parameter without dimensions decays.

    A wrong program spares only parameters with one dimension (`ndim != 1`).
    """
    _record_decays(stage, _Mixer(), ["temperature"])


@driver.scenario("embedding", "임베딩")
def _embedding(stage: Stage) -> None:
    """Record whether embeddings decay: a table, and a tensor of three dimensions.

    A wrong program spares embeddings, as some recipes do.
    """
    _record_decays(stage, _Reader(), ["embedding.weight", "position"])


@driver.scenario("frozen", "얼린 매개변수")
def _frozen(stage: Stage) -> None:
    """Freeze a weight and a bias, beside others of their kind that are trained.

    A wrong program puts frozen parameters into a group.
    """
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[0].weight.requires_grad_(False)
    model[1].bias.requires_grad_(False)
    _record_memberships(stage, model)


@driver.scenario("tied", "함께 쓰는 가중치")
def _tied(stage: Stage) -> None:
    """Let two layers share a weight.

    A wrong program goes through the layers, or passes `remove_duplicate=False`, and puts the weight into a group twice.
    """
    _record_memberships(stage, _Tied())


@driver.scenario("empty", "비는 그룹")
def _empty(stage: Stage) -> None:
    """Record the sizes of the groups for models with both kinds of parameters, with one kind, and with none trained.

    A wrong program returns empty groups. All but the last model come once more with a weight decay of zero, for which
    some wrong programs make one group of all parameters.
    """
    models: dict[str, nn.Module] = {
        "가중치와 편향이 있는": nn.Linear(2, 2),
        "가중치뿐인": nn.Linear(2, 2, bias=False),
        "LayerNorm뿐인": nn.LayerNorm(3),
    }
    all_frozen = nn.Linear(2, 2).requires_grad_(False)
    for title, model in (models | {"모두 얼린": all_frozen}).items():
        _fill_from_seed(stage, model)
        groups = _call(stage, model)
        # Sorted, because the order of the groups is judged in the scenario `order`.
        sums = sorted(float(sum(t.detach().sum() for t in group["params"])) for group in groups)
        stage.recorder.claim(f"{title} 모델에서 그룹마다 든 매개변수의 수", _sorted_sizes(groups), sums)
    for title, model in models.items():
        sizes = _sorted_sizes(_call(stage, model, 0.0))
        stage.recorder.fact(f"weight_decay=0일 때 {title} 모델에서 그룹마다 든 매개변수의 수", sizes)


def _sorted_sizes(groups: list[dict[str, Any]]) -> list[Fact]:
    """Return the number of tensors in each group, sorted: the order of the groups is judged in `order`."""
    return [*sorted(len(group["params"]) for group in groups)]


@driver.scenario("values", "옵티마이저가 쓰는 값")
def _values(stage: Stage) -> None:
    """Record the decays that AdamW reads from the groups, for a decay above zero and for zero.

    A wrong program leaves the decay out of a group, where AdamW then uses its own default of 0.01.
    """
    model = nn.Linear(3, 2)
    for prefix, weight_decay in (("", None), ("weight_decay=0일 때 ", 0.0)):
        optimizer = torch.optim.AdamW(_call(stage, model, weight_decay), lr=0.1)
        for name, parameter in model.named_parameters():
            decays: list[Fact] = [
                float(group["weight_decay"])
                for group in optimizer.param_groups
                if any(tensor is parameter for tensor in group["params"])
            ]
            stage.recorder.fact(f"{prefix}AdamW가 {name}에 쓰는 weight_decay", decays)


@driver.scenario("order", "그룹과 매개변수의 순서")
def _order(stage: Stage) -> None:
    """Record whether each group keeps the order of `model.parameters()`, and whether the decaying group comes first.

    A wrong program sorts by name, or puts the other group first. `kinds`, `scalar` and `embedding` judge which
    parameters decay. So all that is recorded of a group is the first parameter that directly follows one that it should
    precede.
    """
    model = _Nested()
    groups = _call(stage, model)
    position = {name: number for number, (name, _) in enumerate(model.named_parameters())}
    out_of_order: list[Fact] = []
    for group in groups:
        names = [name for tensor in group["params"] if (name := _name_of(tensor, model)) != _NOT_OF_MODEL]
        out_of_order += [name for before, name in pairwise(names) if position[before] > position[name]][:1]
    stage.recorder.fact("그룹 안에서 앞으로 옮겨진 매개변수", out_of_order or "없음")
    first_decays = groups[0].get("weight_decay") == _drawn_decay(stage) if groups else None
    decay_of_first = [as_number(group.get("weight_decay", 0.0)) for group in groups[:1]]
    stage.recorder.claim("첫 그룹이 감쇠하는 그룹", first_decays, decay_of_first)
