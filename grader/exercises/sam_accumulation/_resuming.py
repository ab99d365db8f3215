"""Make a SAM with a state, and a new one that loads it, for the driver of `SAM`.

The scenarios `saves`, `loads`, `loads-groups`, `loads-climb` and `resumes` use them. To play `saves`, `loads` and
`resumes` with another base optimizer, too, add it to `STATEFUL_BASES`.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import mlp, scale_rates, two_groups
from grader.exercises.sam_accumulation._watched_sam import RHO, RandomGradients, WatchedSAM
from grader.observe.play import Stage

STATEFUL_BASES: tuple[tuple[type[Optimizer], dict[str, Any]], ...] = (
    (torch.optim.SGD, {"momentum": 0.9}),
    (torch.optim.AdamW, {"weight_decay": 0.05}),
)
"""Classes of base optimizers that keep a state, each with its arguments."""

_PRESENT, _ABSENT = "있음", "없음"
"""Korean words for a tensor that was found and for one that was not."""

_MAX_DEPTH = 8
"""Maximum depth of nested containers that is searched for tensors. This is enough for a `state_dict` inside several
dicts, and ends the search in a container that contains itself.
"""


def sam_with_state(stage: Stage, base_index: int, *, watch: bool) -> WatchedSAM:
    """Return a SAM over `STATEFUL_BASES[base_index]` after two updates, which give its base optimizer a state."""
    base_class, kwargs = STATEFUL_BASES[base_index]
    model = mlp(stage.env, f"model {base_index}")
    groups = two_groups(model, (0.03, 0.02))
    watched = WatchedSAM(stage, model, groups, base_class, watch=watch, rho=RHO, lr=0.03, **kwargs)
    gradients = RandomGradients(stage.env, model)
    for _ in range(2):
        watched.update_with(gradients.next(), gradients.next())
        scale_rates(watched.base or watched.sam, 0.8)
    return watched


def resume_in_new_sam(
    stage: Stage, first: WatchedSAM, base_index: int, saved: Any, *, watch: bool
) -> WatchedSAM:
    """Return a new SAM over a copy of the first one's model, after loading what was saved.

    The new SAM is made with the same radius and with other learning rates, so that loading must restore the saved ones.

    Args:
        stage: the scenario's stage.
        first: the SAM that was saved.
        base_index: index in `STATEFUL_BASES` of the base optimizer, the same as the first one's.
        saved: what to load, see `state_to_load`.
        watch: record the new SAM's updates.
    """
    base_class, kwargs = STATEFUL_BASES[base_index]
    model = copy.deepcopy(first.model)
    groups = two_groups(model, (0.01, 0.01))
    second = WatchedSAM(stage, model, groups, base_class, watch=watch, rho=RHO, lr=0.01, **kwargs)
    stage.recorder.call(second.sam.load_state_dict, saved)
    return second


def state_to_load(stage: Stage, first: WatchedSAM) -> Any:
    """Return a copy of the SAM's `state_dict`, or of the base optimizer's if a tensor of its state is not in that.

    With the base optimizer's, loading can be judged even if `state_dict` is wrong.
    """
    saved = stage.recorder.call(first.sam.state_dict)
    if first.base is not None and _ABSENT in state_tensor_presence(saved, first.base):
        saved = first.base.state_dict()
    return copy.deepcopy(saved)


def state_tensor_presence(state: object, base: Optimizer | None) -> list[str]:
    """Return a word for each tensor of the base optimizer's state: `있음` if `state` holds an equal one, else `없음`.

    Tensors of one element are left out (see `_tensors_in`). The learner's class decides how its `state_dict` is
    laid out, so tensors are recognised by their values, wherever in it they are. Empty if `base` is None.
    """
    found = list(_tensors_in(state))
    wanted = [] if base is None else list(_tensors_in(list(base.state.values())))
    return [
        _PRESENT if any(_is_same(tensor, candidate) for candidate in found) else _ABSENT for tensor in wanted
    ]


def _tensors_in(value: Any, depth: int = _MAX_DEPTH) -> Iterator[Tensor]:
    """Yield the tensors of more than one element in nested dicts, lists and tuples, at most `depth` containers deep.

    Those of one element, such as AdamW's step counts, are left out: any other number in the container may equal one by
    chance.
    """
    if isinstance(value, Tensor):
        if value.numel() > 1:
            yield value.detach()
    elif depth and isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors_in(item, depth - 1)


def _is_same(one: Tensor, other: Tensor) -> bool:
    """Return True if shape, dtype and all values are equal."""
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
