"""Record how far and in which direction the `first_step` of the learner's SAM climbs, for the driver of `SAM`.

It climbs from the weights w to w + e. SAM's e has the direction of the gradient g and the length rho. ASAM's e, which
`adaptive=True` asks for, has the direction of w² · g, and e / |w| has the length rho.
"""

from typing import Any

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import Net, flat_weights, mlp, two_groups
from grader.exercises.sam_accumulation._watched_sam import RHO, WatchedSAM, sam_batches
from grader.observe.play import Stage

_DEFAULT_RHO = 0.05
"""The radius of a SAM that is made without `rho`."""

_FAR = 5.0
"""A radius larger than the norm of the gradients, which is 0.3 to 3.5 here: a gradient that is only clipped to the
length rho stays shorter than it."""

_STEEP = 300.0
"""Factor on gradients. It makes their norm so large that a limit on the norm changes the climb."""


def record_climbs(stage: Stage, *, adaptive: bool) -> None:
    """Record the climbs of three SAMs: with one parameter group; with two and a large radius; with steep gradients and
    the default radius.

    Args:
        stage: the scenario's stage.
        adaptive: record lengths and directions as ASAM defines them; otherwise as SAM does.
    """
    lengths_over_rho, cosines, climbs_over_rho = [], [], []
    for number, rho in enumerate((RHO, _FAR, None)):
        model = mlp(stage.env, f"model {number}")
        has_two_groups, is_steep = number == 1, rho is None
        watched = _make_sam(stage, model, rho, has_two_groups=has_two_groups, adaptive=adaptive)
        watched.compute_gradients(sam_batches(stage.env)[number])
        if is_steep:
            watched.set_gradients([None if p.grad is None else p.grad * _STEEP for p in watched.parameters])
        uphill = torch.cat([_uphill(p, adaptive=adaptive) for p in model.parameters()])
        before = flat_weights(model)
        stage.recorder.call(watched.sam.first_step)
        climb = flat_weights(model) - before
        length = (climb / before.abs()).norm() if adaptive else climb.norm()
        radius = _DEFAULT_RHO if rho is None else rho
        lengths_over_rho.append(length / radius)
        cosines.append(climb @ uphill / (climb.norm() * uphill.norm()))
        climbs_over_rho.append(climb / radius)
    # If several of these differ, the first one in alphabetical order is told: direction, length, element by element.
    direction_of, length_of = ("w²·g", "e/|w|") if adaptive else ("g", "e")
    stage.recorder.array(f"e의 방향({direction_of}와 같으면 1, 반대면 −1)", torch.stack(cosines))
    stage.recorder.array(f"e의 크기({length_of}의 노름 ÷ ρ)", torch.stack(lengths_over_rho))
    stage.recorder.array("e의 한 좌표(÷ ρ)", torch.stack(climbs_over_rho))


def _make_sam(
    stage: Stage, model: Net, rho: float | None, *, has_two_groups: bool, adaptive: bool
) -> WatchedSAM:
    """Return a SAM over SGD; without `rho` if that is None.

    The base optimizer has a weight decay, which must be no part of the climb.
    """
    params: Any = two_groups(model, (0.3, 0.2)) if has_two_groups else model.parameters()
    kwargs: dict[str, Any] = {"adaptive": adaptive, "weight_decay": 0.1}
    if rho is not None:
        kwargs["rho"] = rho
    return WatchedSAM(stage, model, params, torch.optim.SGD, watch=False, lr=0.3, **kwargs)


def _uphill(parameter: Tensor, *, adaptive: bool) -> Tensor:
    """Return a vector in the direction in which to climb: the gradient g, or for ASAM w² · g."""
    assert parameter.grad is not None
    gradient = parameter.grad.clone()
    return ((parameter.detach() ** 2 * gradient) if adaptive else gradient).ravel()
