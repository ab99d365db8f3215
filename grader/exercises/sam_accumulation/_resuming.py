"""A SAM after some updates, and a new one that goes on from what it saved; for the exercise `SAM`."""

import copy
from typing import Any

import torch
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import mlp, scale_rates, two_groups
from grader.exercises.sam_accumulation._carried_state import carried
from grader.exercises.sam_accumulation._watched_sam import GivenGradients, WatchedSAM
from grader.observe.play import Stage

RHO = 0.2
"""Radius of the climb. Large beside weights of about 0.6: measurements at w and at w + e must differ plainly."""

SETTINGS: tuple[tuple[type[Optimizer], dict[str, Any]], ...] = (
    (torch.optim.SGD, {"momentum": 0.9}),
    (torch.optim.AdamW, {"weight_decay": 0.05}),
)
"""Base optimizers that keep a state, with their arguments."""


def begun(stage: Stage, number: int, *, watch: bool) -> WatchedSAM:
    """Return a SAM after two updates on given gradients, so that its base optimizer has a state."""
    kind, kwargs = SETTINGS[number]
    model = mlp(stage.env, f"model {number}")
    groups = two_groups(model, (0.03, 0.02))
    sam = WatchedSAM(stage, model, groups, kind, watch=watch, rho=RHO, lr=0.03, **kwargs)
    given = GivenGradients(stage.env, model)
    for _ in range(2):
        sam.given_update(given.next(), given.next())
        scale_rates(sam.base or sam.sam, 0.8)
    return sam


def resumed(stage: Stage, first: WatchedSAM, number: int, saved: Any, *, watch: bool) -> WatchedSAM:
    """Return a new SAM over a copy of the model, after loading what was saved."""
    kind, kwargs = SETTINGS[number]
    model = copy.deepcopy(first.model)
    groups = two_groups(model, (0.01, 0.01))
    second = WatchedSAM(stage, model, groups, kind, watch=watch, rho=RHO, lr=0.01, **kwargs)
    stage.recorder.call(second.sam.load_state_dict, saved)
    return second


def saved_state(stage: Stage, first: WatchedSAM) -> Any:
    """Return what the SAM saves.

    If that lacks some of the state, return what its base optimizer saves, so that loading can be judged all the same.
    """
    saved = stage.recorder.call(first.sam.state_dict)
    if "없음" in carried(saved, first.base) and first.base is not None:
        saved = first.base.state_dict()
    return copy.deepcopy(saved)
