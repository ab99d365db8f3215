"""Let a recorder see the optimizers and schedulers that a learner's function builds itself, as `train` does."""

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
    """Inside this context, watch every new optimizer over `model`'s parameters, and note every step of a scheduler.

    Classes are patched, not objects, because a patched scheduler would show the patch in its `state_dict`, which holds
    every attribute of the object.
    """
    build, step = Optimizer.__init__, LRScheduler.step
    parameters = {id(p) for p in model.parameters()}

    @functools.wraps(build)
    def noted_build(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        if any(id(p) in parameters for group in self.param_groups for p in group["params"]):
            recorder.watch_optimizer(self)

    @functools.wraps(step)
    def noted_step(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        if getattr(self, "_step_count", 0) > 0:  # not the step that a scheduler's constructor makes
            recorder.note("scheduler")
        step(self, *args, **kwargs)

    Optimizer.__init__ = noted_build  # type: ignore[method-assign]
    LRScheduler.step = noted_step  # type: ignore[method-assign]
    try:
        yield
    finally:
        Optimizer.__init__ = build  # type: ignore[method-assign]
        LRScheduler.step = step  # type: ignore[method-assign]
