"""The student's SAM over a model that the recorder watches; the scenarios of `SAM` work with it."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import Batch, Net, batches, fixture_loss
from grader.observe.play import Env, Stage


class WatchedSAM:
    """A model, the SAM that the student's class made over it, and the base optimizer that this SAM made."""

    def __init__(
        self,
        stage: Stage,
        model: Net,
        groups: Any,
        kind: type[Optimizer],
        *,
        watch: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make the student's SAM over `model`.

        Args:
            stage: the scenario's stage.
            model: the model.
            groups: its parameters, or groups of them.
            kind: class of the base optimizer.
            watch: record what happens to the parameters.
            kwargs: further arguments of the SAM.
        """
        self.model, self.recorder = model, stage.recorder
        self.parameters = list(model.parameters())
        made: list[Optimizer] = []
        inputs = [xb for xb, _ in sam_batches(stage.env)]
        if watch:
            # No state between the two steps is an update, so w + e is no recorded state; only forward passes see it.
            self.recorder.watch(model, batches=inputs, at_forwards=False)
        self.sam = self.recorder.call(stage.student("SAM"), groups, _tracked_class(kind, made), **kwargs)
        # The last one, in case the student's class made one to throw away.
        self.base = made[-1] if made else None
        if watch and self.base is not None:
            self.recorder.watch_optimizer(self.base)

    def compute_gradients(self, batch: Batch) -> None:
        """Compute the gradients of one batch at the current weights, and do nothing else."""
        self.model.zero_grad()
        fixture_loss(self.model(batch[0])).backward()

    def update(self, batch: Batch) -> None:
        """Make both passes over one batch, with `zero_grad=True` as the lessons call it.

        Gradients are cleared here too: whether the student's steps clear is judged elsewhere.
        """
        self.recorder.call(self._update, batch)

    def _update(self, batch: Batch) -> None:
        self.compute_gradients(batch)
        self.recorder.note("first_step")
        self.sam.first_step(zero_grad=True)
        self.compute_gradients(batch)
        self.sam.second_step(zero_grad=True)

    def update_on(self, first: "Gradients", second: "Gradients") -> None:
        """Make both steps on gradients that do not depend on the weights.

        So the result depends neither on how far `first_step` climbs nor on the direction.
        """
        self.recorder.call(self._update_on, first, second)

    def _update_on(self, first: "Gradients", second: "Gradients") -> None:
        self.set_gradients(first)
        self.recorder.note("first_step")
        self.sam.first_step()
        self.set_gradients(second)
        self.sam.second_step()

    def set_gradients(self, gradients: "Gradients") -> None:
        """Give the parameters these gradients."""
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = None if gradient is None else gradient.clone()


Gradients = Sequence[Tensor | None]
"""One gradient for each parameter; None for a parameter without one."""


class GivenGradients:
    """A source of random gradients for a model's parameters, different each time."""

    def __init__(self, env: Env, model: nn.Module) -> None:
        self._generator = env.generator("gradients")
        self._parameters = list(model.parameters())

    def next(self, *, scale: float = 1.0, without: int | None = None) -> list[Tensor | None]:
        """Return one gradient for each parameter, and None for the parameter with the number `without`."""
        drawn: list[Tensor | None] = []
        for parameter in self._parameters:
            noise = torch.randn(parameter.shape, generator=self._generator, dtype=torch.float64)
            drawn.append((noise * scale).to(parameter.device, parameter.dtype))
        if without is not None:
            drawn[without] = None
        return drawn


def _tracked_class(kind: type[Optimizer], made: list[Optimizer]) -> type[Optimizer]:
    """Return the same optimizer class, except that every instance adds itself to `made`."""

    class Known(kind):  # type: ignore[misc,valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    Known.__name__ = Known.__qualname__ = kind.__name__
    return Known


def sam_batches(env: Env) -> list[Batch]:
    """Return six batches of different sizes."""
    return batches(env, (4, 3, 5, 2, 4, 6))
