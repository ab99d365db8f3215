"""A SAM after some updates, and a new one that goes on from what it saved; for the exercise `SAM`."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import mlp, scale_rates, two_groups
from grader.exercises.sam_accumulation._watched_sam import GivenGradients, WatchedSAM
from grader.observe.play import Stage

RHO = 0.2
"""Radius of the climb. Large beside weights of about 0.6: measurements at w and at w + e must differ plainly."""

SETTINGS: tuple[tuple[type[Optimizer], dict[str, Any]], ...] = (
    (torch.optim.SGD, {"momentum": 0.9}),
    (torch.optim.AdamW, {"weight_decay": 0.05}),
)
"""Base optimizers that keep a state, with their arguments."""

_DEPTH = 8
"""Maximum depth of nested containers that is searched for tensors."""


def sam_with_state(stage: Stage, number: int, *, watch: bool) -> WatchedSAM:
    """Return a SAM with the settings `SETTINGS[number]` after two updates, which give its base optimizer a state."""
    kind, kwargs = SETTINGS[number]
    model = mlp(stage.env, f"model {number}")
    groups = two_groups(model, (0.03, 0.02))
    sam = WatchedSAM(stage, model, groups, kind, watch=watch, rho=RHO, lr=0.03, **kwargs)
    given = GivenGradients(stage.env, model)
    for _ in range(2):
        sam.update_on(given.next(), given.next())
        scale_rates(sam.base or sam.sam, 0.8)
    return sam


def resume_in_new_sam(stage: Stage, first: WatchedSAM, number: int, saved: Any, *, watch: bool) -> WatchedSAM:
    """Return a new SAM over a copy of the first one's model, after loading what was saved.

    Its rates differ from the saved ones, which loading must bring back; its radius is the same.
    """
    kind, kwargs = SETTINGS[number]
    model = copy.deepcopy(first.model)
    groups = two_groups(model, (0.01, 0.01))
    second = WatchedSAM(stage, model, groups, kind, watch=watch, rho=RHO, lr=0.01, **kwargs)
    stage.recorder.call(second.sam.load_state_dict, saved)
    return second


def state_to_load(stage: Stage, first: WatchedSAM) -> Any:
    """Return a copy of what the SAM saves or, if that lacks some of the state, of what its base optimizer saves.

    So loading can be judged although saving is wrong.
    """
    saved = stage.recorder.call(first.sam.state_dict)
    if "없음" in tell_carried(saved, first.base) and first.base is not None:
        saved = first.base.state_dict()
    return copy.deepcopy(saved)


def _tensors_in(value: Any, depth: int = _DEPTH) -> Iterator[Tensor]:
    """Yield all tensors with more than one element inside dicts, lists and tuples."""
    if isinstance(value, Tensor):
        if value.numel() > 1:
            yield value.detach()
    elif depth:
        inner = value.values() if isinstance(value, Mapping) else value
        for item in inner if isinstance(value, Mapping | list | tuple) else ():
            yield from _tensors_in(item, depth - 1)


def tell_carried(state: object, base: Optimizer | None) -> list[str]:
    """For each tensor of the base optimizer's state, tell in Korean if `state` holds an equal one.

    What a `state_dict` looks like is up to the class that loads it. So tensors are recognised by their values, wherever
    they are.
    """
    held = list(_tensors_in(state))
    wanted = [] if base is None else list(_tensors_in(dict(enumerate(base.state.values()))))
    return ["있음" if any(_same(tensor, other) for other in held) else "없음" for tensor in wanted]


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
