"""A model that averages its gradients over the ranks of a `Group`, as `DistributedDataParallel` (DDP) does.

It imitates those properties of DDP that programs get wrong:

- a forward pass that joins, which is one with gradients enabled and outside `no_sync`, makes the next backward pass
  average (`torch/nn/parallel/distributed.py`, `_post_forward` and `no_sync`). So `no_sync` around `backward()` alone
  has no effect, and a forward pass that does not join, in between, changes nothing;
- a forward pass through `module` is not seen: no backward pass averages because of it;
- if a backward pass reaches some parameters and not all, that is noticed one iteration late, by an exception in the
  next forward pass that joins;
- a forward pass gives every rank the buffers of rank 0 if the forward pass before it joined.

Unlike DDP, it does not give all ranks the parameters of rank 0 when it is made: the drivers' models are equal. To
imitate another property, add it to `Replica`, to this list, and to the program `train` of
`tests/exercises/test_ranks.py`, which is compared with real DDP.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.several_processes._group import Group
from grader.observe.wording import particle


class Replica(nn.Module):
    """One rank's model; `replica(x)`, its backward pass and `no_sync` work as those of `DistributedDataParallel`."""

    def __getattr__(self, name: str) -> Any:
        """Return a parameter, buffer or module of this name, as every module does.

        Raises:
            AttributeError: there is none. Of a name that `DistributedDataParallel` has, it says what is here instead.
        """
        if hasattr(nn.parallel.DistributedDataParallel, name) or name in ("process_group", "reducer"):
            raise AttributeError(
                f"채점할 때의 `ddp`에는 `{name}`{particle(name, '이/가')} 없어요. "
                "`ddp(x)`, `ddp.no_sync()`, `ddp.module`로 쓰세요."
            )
        return super().__getattr__(name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """DDP, so that `isinstance(ddp, DistributedDataParallel)` is true: the docstring says that it is one."""
        return nn.parallel.DistributedDataParallel

    def __init__(self, module: nn.Module, group: Group) -> None:
        super().__init__()
        self.module = module
        self.require_backward_grad_sync = True
        """False inside `no_sync`; the name is DDP's."""
        self.forwards_with_gradients = 0
        """Number of forward passes with gradients enabled."""
        self._group = group
        self._last_forward_joined = True
        """True if the last forward pass joined, and before the first pass, as in DDP."""
        self._missing_gradients: set[int] | None = None
        """Indices of the parameters without a gradient since the last pass that joined; None: nothing is averaged."""
        self._trainable_parameters = [p for p in module.parameters() if p.requires_grad]
        """The parameters whose gradients are averaged."""
        # The hooks refer to this replica weakly: torch never frees a parameter whose hook leads back to the parameter.
        this = weakref.ref(self)

        def note(index: int) -> None:
            replica = this()
            if replica is not None:
                replica._note_gradient(index)

        for index, parameter in enumerate(self._trainable_parameters):
            parameter.register_post_accumulate_grad_hook(lambda _, i=index: note(i))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the model.

        Before, broadcast its buffers if the pass before this one joined. If this one joins (the docstring of this file
        says which passes do), let the next backward pass average.

        Returns:
            What the model returns.

        Raises:
            RuntimeError: this pass joins, but since the last one that did, some parameters got a gradient, others not.
        """
        joins = self.require_backward_grad_sync and torch.is_grad_enabled()
        if torch.is_grad_enabled():
            self.forwards_with_gradients += 1
        if (
            joins
            and self._missing_gradients
            and len(self._missing_gradients) < len(self._trainable_parameters)
        ):
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. "
                "This error indicates that your module has parameters that were not used in producing loss."
            )
        if self._last_forward_joined:
            self._broadcast_buffers()
        self._last_forward_joined = joins
        if joins:
            self._missing_gradients = set(range(len(self._trainable_parameters)))
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let no forward pass join inside this context."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _broadcast_buffers(self) -> None:
        """Give every rank the buffers of rank 0, such as BatchNorm's running mean."""
        for buffer in self.module.buffers():
            # `data`, because DDP too leaves the version as it is, which the backward pass of BatchNorm checks.
            self._group.broadcast(buffer.data, src=0)

    def _note_gradient(self, index: int) -> None:
        """Note that a parameter has got its gradient; average all gradients once the last parameter has."""
        if self._missing_gradients is None:
            return
        self._missing_gradients.discard(index)
        if not self._missing_gradients:
            self._missing_gradients = None
            self._average()

    def _average(self) -> None:
        """Replace every gradient by its mean over the ranks, in one collective."""
        gradients: list[Tensor] = [p.grad for p in self._trainable_parameters if p.grad is not None]
        bucket = torch.cat([gradient.reshape(-1) for gradient in gradients])
        self._group.all_reduce(bucket)
        bucket /= self._group.get_world_size()
        for gradient, mean in zip(gradients, bucket.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(mean.reshape(gradient.shape))
