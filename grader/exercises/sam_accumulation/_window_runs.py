"""A model with a base optimizer and the fixtures' SAM; for `sam_accumulate` and `sam_accumulate_weighted`."""

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import Batch, Net, gradient_norm, loss_function
from grader.exercises.fixtures.sam import FixtureSAM
from grader.observe.play import Stage


class WindowRun:
    """A model, its base optimizer and the fixtures' SAM, with a method that calls the student's function on them."""

    def __init__(
        self, stage: Stage, name: str, model: Net, base: Optimizer, data: list[Batch] | None = None
    ) -> None:
        """Set everything up for the student's function `name`. With `data`, updates are recorded."""
        self.stage, self.name, self.model, self.base = stage, name, model, base
        self.loss_fn = loss_function(stage.env)
        if data is not None:
            stage.recorder.watch(model, base, batches=[xb for xb, _ in data], at_forwards=False)
        self.sam = FixtureSAM(base, stage.recorder)

    def call(self, micro_batches: Iterable[Batch], accum_steps: int, **kwargs: Any) -> Any:
        """Call the student's function once and return its result."""
        return self.stage.recorder.call(
            self.stage.student(self.name),
            *(self.model, self.sam, self.loss_fn, micro_batches, accum_steps),
            **kwargs,
        )

    def window_norm(self, window: list[Batch]) -> float:
        """Return the norm of the gradient of a window's concatenated batch, at the current weights."""
        joined = (torch.cat([xb for xb, _ in window]), torch.cat([yb for _, yb in window]))
        return gradient_norm(self.model, self.loss_fn, joined)
