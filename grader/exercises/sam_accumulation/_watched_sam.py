"""The learner's SAM over a model that the recorder may watch; most scenarios of the exercise `SAM` work with it.

In them, w are the weights before an update, and w + e is the point to which `first_step` climbs. `WatchedSAM`
makes whole updates (`update`, `update_with`). A scenario about one half of an update sets the gradients and calls
`first_step` or `second_step` of its attribute `sam` itself.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import Batch, Net, batches, fixture_loss, mlp
from grader.observe.play import Env, Stage

RHO = 0.2
"""Radius of the climb, so large that gradients at w and at w + e differ clearly."""

Gradients = Sequence[Tensor | None]
"""One gradient for each parameter; None for a parameter without one."""


class WatchedSAM:
    """A model, the SAM that the learner's class made over it, and the base optimizer that this SAM made."""

    def __init__(
        self,
        stage: Stage,
        model: Net,
        params: Any,
        base_class: type[Optimizer],
        *,
        watch: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make the learner's SAM over `model`.

        Args:
            stage: the scenario's stage.
            model: the model whose parameters the SAM moves.
            params: its parameters, or groups of them.
            base_class: class of the base optimizer.
            watch: record what happens to the parameters.
            kwargs: further arguments of the SAM.
        """
        self.model, self.recorder = model, stage.recorder
        self.parameters = list(model.parameters())
        self._made: list[Optimizer] = []
        inputs = [xb for xb, _ in sam_batches(stage.env)]
        if watch:
            # No states at forward passes: the second one of an update sees w + e, which is no result of an update.
            self.recorder.watch(model, batches=inputs, at_forwards=False)
        self.sam = self.recorder.call(
            stage.student("SAM"), params, _tracked_class(base_class, self._made), **kwargs
        )
        if watch and self.base is not None:
            self.recorder.watch_optimizer(self.base)

    @property
    def base(self) -> Optimizer | None:
        """The base optimizer: the last one that the learner's class made over the model's parameters.

        It may have made others to throw away, or make a new one when it loads a state. If none has the model's
        parameters, the last one counts; None if it made none.
        """
        own = {id(parameter) for parameter in self.parameters}
        over_the_model = [
            made
            for made in self._made
            if any(id(p) in own for group in made.param_groups for p in group["params"])
        ]
        return next(reversed(over_the_model or self._made), None)

    def update(self, batch: Batch) -> None:
        """Make one update with the gradients of a batch, with `zero_grad=True` as the lessons call both steps."""
        self.recorder.call(self._update, batch)

    def _update(self, batch: Batch) -> None:
        """Compute the gradients and call both steps; the recorder must record the call."""
        self.compute_gradients(batch)
        self.recorder.note("first_step")
        self.sam.first_step(zero_grad=True)
        self.compute_gradients(batch)
        self.sam.second_step(zero_grad=True)

    def compute_gradients(self, batch: Batch) -> None:
        """Compute the gradients of one batch at the current weights.

        Old gradients are cleared before: whether the learner's steps clear them is judged in scenarios of their own.
        """
        self.model.zero_grad()
        fixture_loss(self.model(batch[0])).backward()

    def update_with(self, first: Gradients, second: Gradients) -> None:
        """Make one update with given gradients: `first` for `first_step`, `second` for `second_step`.

        They do not depend on the weights. So the result does not depend on how far or in which direction `first_step`
        climbs.
        """
        self.recorder.call(self._update_with, first, second)

    def _update_with(self, first: Gradients, second: Gradients) -> None:
        """Set the gradients and call both steps; the recorder must record the call."""
        self.set_gradients(first)
        self.recorder.note("first_step")
        self.sam.first_step()
        self.set_gradients(second)
        self.sam.second_step()

    def set_gradients(self, gradients: Gradients) -> None:
        """Give the parameters copies of these gradients."""
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = None if gradient is None else gradient.clone()


class RandomGradients:
    """A source of random gradients for a model's parameters, different each time."""

    def __init__(self, env: Env, model: nn.Module) -> None:
        self._generator = env.generator("gradients")
        self._parameters = list(model.parameters())

    def next(self, *, scale: float = 1.0, without: int | None = None) -> list[Tensor | None]:
        """Return new gradients.

        Args:
            scale: standard deviation of their elements.
            without: index of a parameter that gets None instead of a gradient; None: every parameter gets one.
        """
        gradients: list[Tensor | None] = []
        for parameter in self._parameters:
            noise = torch.randn(parameter.shape, generator=self._generator, dtype=torch.float64)
            gradients.append((noise * scale).to(parameter.device, parameter.dtype))
        if without is not None:
            gradients[without] = None
        return gradients


def sam_over_sgd(stage: Stage, *, watch: bool = True, **kwargs: Any) -> WatchedSAM:
    """Return a SAM over SGD with one group; `kwargs` are further arguments of the SAM."""
    model = mlp(stage.env)
    kwargs = {"rho": RHO, "lr": 0.03, **kwargs}
    return WatchedSAM(stage, model, model.parameters(), torch.optim.SGD, watch=watch, **kwargs)


def sam_batches(env: Env) -> list[Batch]:
    """Return six batches of two to six samples; no batch is as large as the one before."""
    return batches(env, (4, 3, 5, 2, 4, 6))


def _tracked_class(base_class: type[Optimizer], made: list[Optimizer]) -> type[Optimizer]:
    """Return an optimizer class like `base_class`, by the same name, whose every instance adds itself to `made`."""

    class Tracked(base_class):  # type: ignore[misc,valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    Tracked.__name__ = Tracked.__qualname__ = base_class.__name__
    return Tracked
