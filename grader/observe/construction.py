"""Let a recorder see the optimizers and schedulers that a learner's function builds itself, as `train` does.

Drivers of such functions call `watched_construction`; where a driver builds them, it calls `Recorder.watch` instead.
"""

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
    original_init, original_step = Optimizer.__init__, LRScheduler.step
    parameters = {id(p) for p in model.parameters()}

    @functools.wraps(original_init)
    def noted_init(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        if any(id(p) in parameters for group in self.param_groups for p in group["params"]):
            recorder.watch_optimizer(self)

    @functools.wraps(original_step)
    def noted_step(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        if getattr(self, "_step_count", 0) > 0:  # not the step that a scheduler's constructor makes
            recorder.note("scheduler")
        original_step(self, *args, **kwargs)

    Optimizer.__init__ = noted_init  # type: ignore[method-assign]
    LRScheduler.step = noted_step  # type: ignore[method-assign]
    try:
        yield
    finally:
        Optimizer.__init__ = original_init  # type: ignore[method-assign]
        LRScheduler.step = original_step  # type: ignore[method-assign]
