"""Record how far and in which direction the `first_step` of the learner's SAM climbs, for the driver of `SAM`.

It climbs from the weights w to w + e. SAM's e has the direction of the gradient g and the length rho. ASAM's e, which
`adaptive=True` asks for, has the direction of w² · g, and e / |w| has the length rho.

`_CLIMBS` is the table of the situations in which it climbs. The scenarios `climbs` and `adaptive-climbs`, in `sam.py`,
record all of them by `record_climbs`. A wrong e that none of the rows shows needs another row, with a comment on what
it shows; a situation that the fields of `_Climb` do not describe needs another field, which `_measure_climb` reads.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import flat_weights, mlp, two_groups
from grader.exercises.sam_accumulation._watched_sam import RHO, WatchedSAM, sam_batches
from grader.observe.play import Stage

_DEFAULT_RHO = 0.05
"""The radius of a SAM that is made without `rho`, as the exercise's docstring says."""


@dataclass(frozen=True)
class _Climb:
    """A situation in which `first_step` is called once, on a new SAM over a new model."""

    rho: float | None
    """The radius that the SAM is made with; None: it is made without `rho`."""
    has_two_groups: bool = False
    """True: the parameters come in two groups. e is one vector over all of them."""
    gradient_factor: float = 1.0
    """Factor on the gradients of the batch, whose norm is 0.3 to 3.5."""


_CLIMBS = (
    _Climb(RHO),
    # A norm for each group is too small. Gradients that are clipped to the length rho, not scaled, stay shorter.
    _Climb(5.0, has_two_groups=True),
    # Shows a limit on the norm, and another default radius.
    _Climb(None, gradient_factor=300.0),
)
"""Each climb takes the batch of its position in `sam_batches`, so there may be six."""


class _MeasuredClimb(NamedTuple):
    """What one call of `first_step` did to the weights."""

    cosine: Tensor
    """Cosine of the angle between e and the right direction: 1 uphill, -1 downhill."""
    length_over_rho: Tensor
    """Length of e, for ASAM of e / |w|, as a multiple of the radius: 1 if it is right."""
    e_over_rho: Tensor
    """e itself, flattened, as a multiple of the radius."""


def record_climbs(stage: Stage, *, adaptive: bool) -> None:
    """Record direction, length and elements of e for each of `_CLIMBS`.

    Args:
        stage: the scenario's stage.
        adaptive: make the SAMs with `adaptive=True`, and measure as ASAM defines it; otherwise as SAM does.
    """
    measured = [
        _measure_climb(stage, number, climb, adaptive=adaptive) for number, climb in enumerate(_CLIMBS)
    ]
    # If several of these differ, the first one in alphabetical order is told: direction, length, element by element.
    direction_of, length_of = ("w²·g", "e/|w|") if adaptive else ("g", "e")
    cosines = torch.stack([one.cosine for one in measured])
    stage.recorder.array(f"e의 방향({direction_of}와 같으면 1, 반대면 −1)", cosines)
    lengths = torch.stack([one.length_over_rho for one in measured])
    stage.recorder.array(f"e의 크기({length_of}의 노름 ÷ ρ)", lengths)
    stage.recorder.array("e의 한 좌표(÷ ρ)", torch.stack([one.e_over_rho for one in measured]))


def _measure_climb(stage: Stage, number: int, climb: _Climb, *, adaptive: bool) -> _MeasuredClimb:
    """Call `first_step` once and return what it did; `number` is the position of `climb` in the table."""
    model = mlp(stage.env, f"model {number}")
    params: Any = two_groups(model, (0.3, 0.2)) if climb.has_two_groups else model.parameters()
    kwargs: dict[str, Any] = (
        {"adaptive": adaptive} if climb.rho is None else {"adaptive": adaptive, "rho": climb.rho}
    )
    # The base optimizer's weight decay must be no part of the climb.
    watched = WatchedSAM(
        stage, model, params, torch.optim.SGD, watch=False, lr=0.3, weight_decay=0.1, **kwargs
    )
    watched.compute_gradients(sam_batches(stage.env)[number])
    gradients = [None if p.grad is None else p.grad * climb.gradient_factor for p in watched.parameters]
    watched.set_gradients(gradients)
    uphill = torch.cat([_uphill(p, adaptive=adaptive) for p in watched.parameters])
    before = flat_weights(model)
    stage.recorder.call(watched.sam.first_step)
    e = flat_weights(model) - before
    length = (e / before.abs()).norm() if adaptive else e.norm()
    radius = _DEFAULT_RHO if climb.rho is None else climb.rho
    return _MeasuredClimb(e @ uphill / (e.norm() * uphill.norm()), length / radius, e / radius)


def _uphill(parameter: Tensor, *, adaptive: bool) -> Tensor:
    """Return a vector in the direction in which to climb: the gradient g, or for ASAM w² · g."""
    assert parameter.grad is not None
    gradient = parameter.grad.clone()
    return ((parameter.detach() ** 2 * gradient) if adaptive else gradient).ravel()
