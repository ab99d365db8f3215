"""Tell whether the states in a checkpoint are those of one moment of a `DriverTraining`, for `BestCheckpoint`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from grader.exercises.fixtures.checkpoints import as_fact
from grader.exercises.fixtures.training import DriverTraining
from grader.observe.play import Stage
from grader.observe.trace import Fact
from grader.observe.wording import yes_or_no

_NOT_LOADED = "불러올 수 없음"


class Moment(NamedTuple):
    """The state of a training at one call of `update`."""

    weights: Tensor
    optimizer: Tensor
    """Momentum and learning rates (`_momentum_and_rates`)."""
    scheduler: Fact
    """The number of the scheduler's steps."""


def moment_of(training: DriverTraining) -> Moment:
    """Return the present state of a training."""
    return Moment(
        training.state_vector(), _momentum_and_rates(training.opt), as_fact(training.scheduler.last_epoch)
    )


def _momentum_and_rates(opt: Optimizer) -> Tensor:
    """Return a copy of an optimizer's momentum and learning rates as one float64 vector."""
    buffers = [
        opt.state[parameter]["momentum_buffer"].double().cpu().ravel()
        for group in opt.param_groups
        for parameter in group["params"]
    ]
    rates = torch.tensor([float(group["lr"]) for group in opt.param_groups], dtype=torch.float64)
    return torch.cat([*buffers, rates])


def load_momentum_and_rates(opt: Optimizer, state: Any) -> Tensor:
    """Load a saved state into an optimizer; return its momentum and learning rates, empty if loading failed."""
    try:
        opt.load_state_dict(state)
        return _momentum_and_rates(opt)
    except Exception:
        return torch.zeros(0)


def load_step_count(scheduler: LRScheduler, state: Any) -> Fact:
    """Load a saved state into a scheduler; return its number of steps, or in Korean that loading failed."""
    try:
        scheduler.load_state_dict(state)
        return as_fact(scheduler.last_epoch)
    except Exception:
        return _NOT_LOADED


def record_other_moments(stage: Stage, content: Mapping[str, Any], moment: Moment, name: str) -> None:
    """Record whether a file holds the optimizer's and the scheduler's state of another moment than the weights'.

    A state that is missing or cannot be loaded is of no other moment: `content` judges that.

    Args:
        stage: the scenario's stage.
        content: the content of the file.
        moment: the state of the training when it had the weights in the file.
        name: Korean phrase with which the names of the facts begin.
    """
    fresh = DriverTraining(stage.env, salt="fresh")
    optimizer = load_momentum_and_rates(fresh.opt, content.get("optimizer"))
    is_other = len(optimizer) > 0 and not torch.equal(optimizer, moment.optimizer)
    stage.recorder.fact(f"{name}의 파일에 든 옵티마이저의 상태가 가중치와 다른 때의 것", yes_or_no(is_other))
    scheduler = load_step_count(fresh.scheduler, content.get("scheduler"))
    is_other = scheduler not in (_NOT_LOADED, moment.scheduler)
    stage.recorder.fact(f"{name}의 파일에 든 스케줄러의 상태가 가중치와 다른 때의 것", yes_or_no(is_other))
