"""Lets a recorder see optimizers and schedulers that the student's function builds itself (`train` and its like)."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from grader.observe.recorder import Recorder


@contextmanager
def watched_construction(recorder: Recorder, model: nn.Module) -> Iterator[None]:
    """Inside this context, every new optimizer over `model`'s parameters is watched, and every scheduler's step noted.

    The classes are patched, not the objects, because a scheduler's `state_dict` holds every attribute of the object.
    """
    build, step = Optimizer.__init__, LRScheduler.step
    parameters = {id(p) for p in model.parameters()}

    @functools.wraps(build)
    def noted_build(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        if any(id(p) in parameters for group in self.param_groups for p in group["params"]):
            recorder.adopt(self)

    @functools.wraps(step)
    def noted_step(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        if getattr(self, "_step_count", 0) > 0:  # a scheduler's constructor steps too
            recorder.note("scheduler")
        step(self, *args, **kwargs)

    Optimizer.__init__ = noted_build  # type: ignore[method-assign]
    LRScheduler.step = noted_step  # type: ignore[method-assign]
    try:
        yield
    finally:
        Optimizer.__init__ = build  # type: ignore[method-assign]
        LRScheduler.step = step  # type: ignore[method-assign]
