"""Driver of `muon_groups`, which returns the list of a model's parameters that Muon updates, and that for AdamW.

Promises of the exercise, and the scenarios that check them:
    Muon gets the parameters of exactly two dimensions, AdamW all others: `kinds`
    embeddings go to AdamW: `embedding`
    the output layer goes to AdamW: `head`, `deep-head`; the argument `head` says which layer it is: `named`, `dotted`
    a matrix that an inner layer shares with one of these goes to AdamW: `tied`
    frozen parameters are in neither list: `frozen`; shared ones are there once: `once`
    both lists have the order of `model.parameters()`: `order`
    a name that no module has is refused: `missing`

Each scenario uses small models that show one of these rules, and records only what the rule is about: which list holds
a parameter (the first four lines above), how often, in which order, or which exception was raised. The models' classes
are named like models and not after the rule: learners may read the name in the message of an exception.

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

driver = Driver("muon_groups")

_LISTS = ("Muon", "AdamW")
"""The optimizers that the two returned lists are for, in their order."""


class _Mixer(nn.Module):
    """A model whose parameter names mislead about what is a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_mix = nn.Linear(3, 4)  # a matrix, named like a norm
        self.gain = nn.Parameter(torch.ones(4))  # a vector, named neither like a bias nor like a norm
        self.filter = nn.Conv1d(4, 2, 3)  # three dimensions
        self.bias_table = nn.Parameter(torch.zeros(2, 2))  # a matrix of no layer, named like a bias
        self.scale = nn.LayerNorm(4)
        self.temperature = nn.Parameter(torch.tensor(1.0))
        self.head = nn.Linear(4, 2)


class _Reader(nn.Module):
    """A model with two embeddings, and a matrix `embed_mix` that is named like one."""

    def __init__(self) -> None:
        super().__init__()
        self.character = nn.Embedding(5, 4)
        self.place = nn.Embedding(3, 4)
        self.embed_mix = nn.Linear(4, 4)
        self.head = nn.Linear(4, 5)


class _Attention(nn.Module):
    """A model whose inner layers have names that contain `head`. Its head is the module that it is made with."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.heads = nn.Linear(4, 4)
        self.ahead = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        self.head = head


class _Decoder(nn.Module):
    """A model with two layers that may be named as its head, `out` and `decoder.out`, and an inner layer `head`."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 4)
        self.decoder = nn.ModuleDict({"mix": nn.Linear(4, 4), "out": nn.Linear(4, 5)})
        self.out = nn.Linear(4, 3)


class _Tied(nn.Module):
    """A model with three ties: head and inner layer, embedding and inner layer, and two inner layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6, bias=False)
        self.second = nn.Linear(4, 5, bias=False)
        self.third = nn.Linear(4, 4, bias=False)
        self.fourth = nn.Linear(4, 4, bias=False)
        self.fourth.weight = self.third.weight
        self.table = nn.Embedding(6, 4)
        self.table.weight = self.first.weight
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.second.weight


class _Once(nn.Module):
    """A model in which the head shares its weight with the embedding, and two inner layers share theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.middle = nn.Linear(4, 4)
        self.again = nn.Linear(4, 4)
        self.again.weight = self.middle.weight
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight


class _Nested(nn.Module):
    """A model whose parameters come in another order than their names sorted.

    `start`, which belongs to no layer, comes first, and block 10 after block 2.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(2, 3)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3)) for _ in range(11))
        self.table = nn.Embedding(4, 3)
        self.a_last = nn.Linear(3, 2)
        self.head = nn.Linear(2, 2)
        self.start = nn.Parameter(torch.zeros(1, 2))


def _call(stage: Stage, model: nn.Module, **kwargs: Any) -> list[list[Any]]:
    """Fill each parameter with a number from the seed, call the learner's function, and return its two lists."""
    for name, parameter in model.named_parameters():
        parameter.detach().fill_(seeded_number(stage.env, name))
    muon, adamw = stage.recorder.call(stage.student("muon_groups"), model, **kwargs)
    return [list(muon), list(adamw)]


def _memberships(lists: list[list[Any]], parameter: Tensor) -> list[int]:
    """Return the indices in `_LISTS` of the lists that hold a parameter, an index for each time that it is there."""
    return [number for number, tensors in enumerate(lists) for tensor in tensors if tensor is parameter]


def _record_lists(stage: Stage, model: nn.Module, names: Sequence[str], **kwargs: Any) -> None:
    """Record for each of the named parameters which lists it is in; `once` and `frozen` judge how often.

    The witness has a number for each of these lists: the sum of the parameter's elements, or twice that for AdamW's.
    """
    lists = _call(stage, model, **kwargs)
    for name in names:
        parameter = model.get_parameter(name)
        found = sorted(set(_memberships(lists, parameter)))
        words: list[Fact] = [_LISTS[number] for number in found]
        witness = [float(parameter.detach().sum()) * (1 + number) for number in found]
        stage.recorder.claim(name, words or "어느 쪽에도 없음", witness)


def _record_counts(stage: Stage, model: nn.Module) -> None:
    """Record how many times each parameter is in the lists.

    The witness has the sum of the parameter's elements, once for each of these times.
    """
    lists = _call(stage, model)
    for name, parameter in model.named_parameters():
        count = len(_memberships(lists, parameter))
        stage.recorder.claim(f"{name}: 들어 있는 횟수", count, [float(parameter.detach().sum())] * count)


def _lists_witness(stage: Stage, model: nn.Module, lists: list[list[Any]]) -> list[float]:
    """Return [a number from the seed] if any parameter is in the lists, else [0.0].

    As a witness, it keeps a program from passing that returns empty lists.
    """
    holds_any = any(_memberships(lists, parameter) for parameter in model.parameters())
    return [seeded_number(stage.env, "lists") * holds_any]


@driver.scenario("kinds", "행렬과 나머지")
def _kinds(stage: Stage) -> None:
    """Record the lists of the parameters that belong neither to an embedding nor to the head.

    A wrong program goes by names or by layers, takes more than two dimensions, or leaves the vectors out.
    """
    model = _Mixer()
    names = [name for name, _ in model.named_parameters() if not name.startswith("head")]
    _record_lists(stage, model, names)


@driver.scenario("embedding", "임베딩")
def _embedding(stage: Stage) -> None:
    """Record the lists of two embeddings, and of a matrix that is named like one.

    A wrong program gives embeddings to Muon, or knows them by their names.
    """
    _record_lists(stage, _Reader(), ["character.weight", "place.weight", "embed_mix.weight"])


@driver.scenario("head", "출력 계층")
def _head(stage: Stage) -> None:
    """Record the lists of the head's weight and bias, and of matrices of inner layers whose names contain `head`.

    A wrong program gives the head to Muon, or takes more layers for the head.
    """
    names = ["head.weight", "head.bias", "heads.weight", "ahead.0.weight"]
    _record_lists(stage, _Attention(nn.Linear(4, 5)), names)


@driver.scenario("deep-head", "계층이 여럿인 출력 계층", check="head")
def _deep_head(stage: Stage) -> None:
    """Record the lists of the two weights of a head of two layers, and of a matrix of an inner layer.

    A wrong program looks for one weight in the head.
    """
    head = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 5))
    _record_lists(stage, _Attention(head), ["head.0.weight", "head.1.weight", "heads.weight"])


@driver.scenario("named", "이름을 준 출력 계층")
def _named(stage: Stage) -> None:
    """Name another layer as the head, in a model with an inner layer called `head`.

    A wrong program looks for `head` whatever the argument says.
    """
    names = ["head.weight", "decoder.mix.weight", "decoder.out.weight", "out.weight"]
    _record_lists(stage, _Decoder(), names, head="out")


@driver.scenario("dotted", "다른 모듈 안에 있는 출력 계층", check="named")
def _dotted(stage: Stage) -> None:
    """Name a layer inside another module as the head.

    A wrong program looks for an attribute of the model, and finds none.
    """
    names = ["head.weight", "decoder.mix.weight", "decoder.out.weight", "out.weight"]
    _record_lists(stage, _Decoder(), names, head="decoder.out")


@driver.scenario("tied", "임베딩이나 출력 계층과 함께 쓰는 행렬")
def _tied(stage: Stage) -> None:
    """Tie the head and the embedding with inner layers that come before them, and two inner layers with one another.

    A wrong program goes by the first name of a parameter, which is that of the inner layer, or gives everything that is
    shared to AdamW.
    """
    _record_lists(stage, _Tied(), ["first.weight", "second.weight", "third.weight"])


@driver.scenario("once", "함께 쓰는 것은 한 번만", check="tied")
def _once(stage: Stage) -> None:
    """Count how often each parameter of a model with shared ones is in the lists.

    A wrong program puts a shared parameter into a list twice, or into both.
    """
    _record_counts(stage, _Once())


@driver.scenario("frozen", "얼린 매개변수")
def _frozen(stage: Stage) -> None:
    """Freeze a matrix, a bias and an embedding, beside others of their kind that are trained.

    A wrong program puts frozen parameters into a list.
    """
    model = _Reader()
    model.add_module("mix", nn.Linear(4, 4))
    for parameter in (model.place.weight, model.embed_mix.weight, model.head.bias):
        parameter.requires_grad_(False)
    _record_counts(stage, model)


@driver.scenario("order", "리스트 안의 순서")
def _order(stage: Stage) -> None:
    """Record, for each list, the first parameter that stands after one which it should precede.

    A wrong program sorts by name, or collects in sets, or one kind of module after another. Which list a parameter is
    in is judged elsewhere.
    """
    model = _Nested()
    lists = _call(stage, model)
    position = {id(parameter): number for number, parameter in enumerate(model.parameters())}
    name_of = {id(parameter): name for name, parameter in model.named_parameters()}
    moved: list[Fact] = []
    for tensors in lists:
        own = [id(tensor) for tensor in tensors if id(tensor) in position]
        moved += [name_of[now] for before, now in pairwise(own) if position[before] > position[now]][:1]
    stage.recorder.claim("앞으로 옮겨진 매개변수", moved or "없음", _lists_witness(stage, model, lists))


@driver.scenario("missing", "없는 출력 계층")
def _missing(stage: Stage) -> None:
    """Call with a head that exists, then with ones that do not.

    A wrong program passes over the missing name, or raises another exception. One that looks for `head` whatever it is
    told raises only in the last model, which has no module `head`. A program that always raises fails in the first
    call.
    """
    model = _Reader()
    witness = _lists_witness(stage, model, _call(stage, model))
    stage.recorder.array("모델의 매개변수가 든 리스트", witness)
    for head in ("tail", "embed"):  # `embed` is the beginning of the name of a module, `embed_mix`
        fact = f"이름이 {head}인 모듈이 없을 때"
        stage.recorder.record_raised(KeyError, fact, stage.student("muon_groups"), _Reader(), head=head)
    headless = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 5))
    fact = "이름이 head인 모듈도 없을 때"
    stage.recorder.record_raised(KeyError, fact, stage.student("muon_groups"), headless, head="tail")
