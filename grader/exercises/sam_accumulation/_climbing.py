"""Record how far and in which direction the student's SAM climbs; for the exercise `SAM`."""

from typing import Any

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import flat_weights, mlp, two_groups
from grader.exercises.sam_accumulation._resuming import RHO
from grader.exercises.sam_accumulation._watched_sam import WatchedSAM, sam_batches
from grader.observe.play import Stage

_DEFAULT_RHO = 0.05


def _uphill(parameter: Tensor, *, adaptive: bool) -> Tensor:
    """Return the direction in which to climb: the gradient, or w² times the gradient for ASAM."""
    assert parameter.grad is not None
    gradient = parameter.grad.clone()
    return ((parameter.detach() ** 2 * gradient) if adaptive else gradient).ravel()


def record_climbs(stage: Stage, *, adaptive: bool) -> None:
    """Record the climb of `first_step` in three cases.

    The cases are one parameter group, two groups, and steep gradients with the default radius. With `adaptive`, length
    and direction are those that ASAM prescribes.
    """
    env = stage.env
    e_norms, cosines, moves = [], [], []
    for number, rho in enumerate((RHO, 0.1, None)):
        model = mlp(env, f"model {number}")
        groups: Any = two_groups(model, (0.3, 0.2)) if number == 1 else model.parameters()
        # The base optimizer's decay is no part of the climb.
        extra: dict[str, Any] = {"adaptive": adaptive, "weight_decay": 0.1}
        if rho is not None:
            extra["rho"] = rho
        watched = WatchedSAM(stage, model, groups, torch.optim.SGD, watch=False, lr=0.3, **extra)
        watched.compute_gradients(sam_batches(env)[number])
        if rho is None:  # steep: a norm that something has clipped shows
            watched.set_gradients([None if p.grad is None else p.grad * 300.0 for p in watched.parameters])
        direction = torch.cat([_uphill(p, adaptive=adaptive) for p in model.parameters()])
        before = flat_weights(model)
        stage.recorder.call(watched.sam.first_step)
        moved = flat_weights(model) - before
        length = moved.norm() if not adaptive else (moved / before.abs()).norm()
        e_norms.append(length / (_DEFAULT_RHO if rho is None else rho))
        cosines.append(moved @ direction / (moved.norm() * direction.norm()))
        moves.append(moved)
    # Compared in the order of their names: direction, then length, then element by element.
    uphill, size = ("w²·g", "e/|w|") if adaptive else ("g", "e")
    stage.recorder.array(f"e의 방향({uphill}와 같으면 1, 반대면 −1)", torch.stack(cosines))
    stage.recorder.array(f"e의 크기({size}의 노름 ÷ ρ)", torch.stack(e_norms))
    stage.recorder.array("e의 한 좌표", torch.stack(moves))
