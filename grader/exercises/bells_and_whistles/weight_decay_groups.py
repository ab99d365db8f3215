"""Driver of `weight_decay_groups`, which splits a model's parameters into a group with weight decay and one without.

Parameters of two or more dimensions decay, the others do not; frozen ones are left out, shared ones come once, and
empty groups are dropped. Each scenario uses a small model that shows one of these rules.
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

_STRANGE = "(모델의 매개변수가 아님)"


class _Mixer(nn.Module):
    """A model whose parameter names do not tell whether they are weights, biases or norms; it has a buffer too."""

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
        self.character = nn.Embedding(5, 4)
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
    """A model whose own parameters come before those of its children, so the order is not that of the names."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(2, 3)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3)) for _ in range(11))
        self.a_norm = nn.LayerNorm(3)
        self.a_last = nn.Linear(3, 2)
        self.start = nn.Parameter(torch.zeros(1, 2))


def _strength(stage: Stage) -> float:
    """Return a weight decay that is no optimizer's default."""
    return round(stage.env.draw("decay").real(0.05, 0.5), 3)


def _groups(stage: Stage, model: nn.Module, strength: float | None = None) -> list[dict[str, Any]]:
    """Return the groups that the student's function returned, each with its tensors as a list.

    Any form of groups that an optimizer takes is right.
    """
    weight_decay = _strength(stage) if strength is None else strength
    groups = stage.recorder.call(stage.student("weight_decay_groups"), model, weight_decay)
    return [{**group, "params": _tensors(group["params"])} for group in groups]


def _tensors(params: Any) -> list[Any]:
    """Return a group's tensors: from one tensor, an iterable of tensors, or pairs of name and tensor."""
    if isinstance(params, Tensor):
        return [params]
    return [item[1] if isinstance(item, tuple) else item for item in params]


def _name(model: nn.Module, tensor: Any) -> str:
    return next((name for name, own in model.named_parameters() if own is tensor), _STRANGE)


def _record_decays(stage: Stage, model: nn.Module, names: Sequence[str] = ()) -> None:
    """Record for each parameter, once for each group it is in, whether it decays.

    How a decay of zero is written is judged elsewhere.
    """
    groups = _groups(stage, model)
    for name, parameter in model.named_parameters():
        if not names or name in names:
            found: list[Fact] = [
                "감쇠함" if group.get("weight_decay", 0.0) == _strength(stage) else "감쇠하지 않음"
                for group in groups
                for tensor in group["params"]
                if tensor is parameter
            ]
            decays = [_strength(stage) * (one == "감쇠함") for one in found]
            stage.recorder.claim(name, found or "어느 그룹에도 없음", decays)
    strange = sum(_name(model, tensor) == _STRANGE for group in groups for tensor in group["params"])
    stage.recorder.fact("모델의 매개변수가 아닌 텐서", strange)


def _fill(stage: Stage, model: nn.Module) -> None:
    """Fill all parameters with numbers that follow from the seed."""
    for name, parameter in model.named_parameters():
        parameter.detach().fill_(seeded_number(stage.env, name))


def _record_memberships(stage: Stage, model: nn.Module) -> None:
    """Record for each parameter how often it is in any group; the witness is the parameter's value each time."""
    _fill(stage, model)
    held = [tensor for group in _groups(stage, model) for tensor in group["params"]]
    for name, parameter in model.named_parameters():
        found = [float(tensor.detach().sum()) for tensor in held if tensor is parameter]
        stage.recorder.claim(f"{name}: 그룹에 든 횟수", len(found), found)


@driver.scenario("kinds", "가중치와 나머지")
def _kinds(stage: Stage) -> None:
    """Which of the parameters with one or more dimensions decay, whatever their names suggest."""
    names = [name for name, _ in _Mixer().named_parameters() if name != "temperature"]
    _record_decays(stage, _Mixer(), names)


@driver.scenario("scalar", "차원이 없는 매개변수", check="kinds")
def _scalar(stage: Stage) -> None:
    """A parameter without dimensions must not decay."""
    _record_decays(stage, _Mixer(), ["temperature"])


@driver.scenario("embedding", "임베딩")
def _embedding(stage: Stage) -> None:
    """Embeddings decay like other parameters of two or more dimensions."""
    _record_decays(stage, _Reader(), ["character.weight", "position"])


@driver.scenario("frozen", "얼린 매개변수")
def _frozen(stage: Stage) -> None:
    """A frozen weight and a frozen bias, beside others of their kind that are trained."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[0].weight.requires_grad_(False)
    model[1].bias.requires_grad_(False)
    _record_memberships(stage, model)


@driver.scenario("tied", "함께 쓰는 가중치")
def _tied(stage: Stage) -> None:
    """A parameter that two layers share must be in one group only once."""
    _record_memberships(stage, _Tied())


@driver.scenario("empty", "비는 그룹")
def _empty(stage: Stage) -> None:
    """A model with weights and a bias, then only weights, only norms, and only frozen parameters.

    The groups must be the same if the weight decay is zero.
    """
    plain = nn.Linear(2, 2, bias=False)
    frozen = nn.Linear(2, 2).requires_grad_(False)
    models: dict[str, nn.Module] = {
        "둘 다": nn.Linear(2, 2),
        "가중치뿐": plain,
        "LayerNorm뿐": nn.LayerNorm(3),
    }
    for what, model in (models | {"모두 얼린": frozen}).items():
        _fill(stage, model)
        groups, name = _groups(stage, model), f"{what} 모델에서 그룹마다 든 매개변수의 수"
        sizes: list[Fact] = [len(group["params"]) for group in groups]
        sums = sorted(float(sum(t.detach().sum() for t in group["params"])) for group in groups)
        stage.recorder.claim(name, sorted(sizes, key=str), sums)
    for what, model in models.items():
        sizes = [len(group["params"]) for group in _groups(stage, model, 0.0)]
        name = f"weight_decay=0일 때 {what} 모델에서 그룹마다 든 매개변수의 수"
        stage.recorder.fact(name, sorted(sizes, key=str))


@driver.scenario("values", "옵티마이저가 쓰는 값")
def _values(stage: Stage) -> None:
    """The groups as AdamW reads them, whose own default decay is 0.01; then once more with a decay of zero."""
    model = nn.Linear(3, 2)
    for when, strength in (("", None), ("weight_decay=0일 때 ", 0.0)):
        optimizer = torch.optim.AdamW(_groups(stage, model, strength), lr=0.1)
        for name, parameter in model.named_parameters():
            values = [
                float(group["weight_decay"])
                for group in optimizer.param_groups
                if any(tensor is parameter for tensor in group["params"])
            ]
            stage.recorder.fact(f"{when}AdamW가 {name}에 쓰는 weight_decay", [*values])


@driver.scenario("order", "그룹과 매개변수의 순서")
def _order(stage: Stage) -> None:
    """The group that decays comes first, and each group keeps the order of `model.parameters()`.

    Which parameters decay is judged elsewhere.
    """
    model = _Nested()
    groups = _groups(stage, model)
    position = {name: number for number, (name, _) in enumerate(model.named_parameters())}
    too_late: list[Fact] = []  # of each group, the first parameter that comes too late
    for group in groups:
        names = [name for name in (_name(model, tensor) for tensor in group["params"]) if name != _STRANGE]
        too_late += [name for before, name in pairwise(names) if position[before] > position[name]][:1]
    stage.recorder.fact("그룹 안에서 앞으로 옮겨진 매개변수", too_late or "없음")
    first = groups[0].get("weight_decay") == _strength(stage) if groups else None
    decays = [as_number(group.get("weight_decay", 0.0)) for group in groups[:1]]
    stage.recorder.claim("첫 그룹이 감쇠하는 그룹", first, decays)
