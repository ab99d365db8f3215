"""Measure what forward passes keep for their backward, and how long.

A forward pass keeps activations until its backward pass has used them, and its graph as long as something refers to
the output or to what was computed from it. Both are seen through weak references, so that measuring changes nothing:
to the inputs of the model's layers, which autograd saves, and to a hook that only the output's graph holds.

Example: a loop that runs `backward()` for each micro-batch has the activations of one at a time. One that adds up the
losses of four and runs backward once has those of four when the fourth forward pass ends.

`Recorder.measure_memory` makes a `GraphMeter`; `exercises/fixtures/memory.py` records its numbers as facts.
"""

import gc
from dataclasses import dataclass, field
from typing import Any
from weakref import ref  # the class itself: a submission may replace `weakref.ref`

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

HELD_BY_NAMES = 3
"""Maximum number of earlier graphs that a right loop may keep alive: names such as `loss` and `logits` hold them until
they are bound anew. So a search for cycles, which takes tens of milliseconds, is made only if there are more, or if
activations are alive.
"""


class _GraphToken:
    """A hook that does nothing; it lives as long as the graph it is registered on."""

    def __call__(self, *_: Any) -> None:
        return None


@dataclass
class _Pass:
    """One forward pass that built a graph."""

    samples: int
    """Number of samples that went in."""
    is_training: bool
    """True if the model was in train mode."""
    token: "ref[_GraphToken]"
    """Is dead when the graph is."""
    activations: "list[ref[Tensor]]" = field(default_factory=list)
    """Inputs of the linear layers that the pass has saved for its backward."""

    def has_graph(self) -> bool:
        """Return True as long as the graph of the pass is alive."""
        return self.token() is not None

    def has_activations(self) -> bool:
        """Return True as long as an activation of the pass is alive."""
        return any(activation() is not None for activation in self.activations)


class GraphMeter:
    """Count what is alive at the same time over all forward passes of a model.

    Passes that build no graph are not counted. Nor is a single earlier pass without a backward, because names such as
    `loss` hold it until they are bound anew. So a window whose graphs are held is noticed only if it has three
    micro-batches or more. Passes in train mode are counted once more alone, for functions that also validate: a
    validation that builds graphs is no micro-batch of a window.
    """

    def __init__(self) -> None:
        self.samples = 0
        """Largest number of samples whose activations were alive together when a forward pass ended, with its own."""
        self.largest = 0
        """Largest number of samples in one pass."""
        self.training_samples = 0
        """As `samples`, of the passes in train mode only."""
        self.training_largest = 0
        """As `largest`, of the passes in train mode only."""
        self.graphs = 0
        """Largest number of earlier passes in train mode whose graph was alive when another one in train mode ended."""
        self.evaluation_graphs = 0
        """The same for passes in eval mode."""
        self._passes: list[_Pass] = []
        self._inputs: list[ref[Tensor]] = []
        """Activations that the pass now going on has saved so far."""
        self._is_training = True
        """Mode of the linear layer that was called last."""
        self._may_have_cycles = True
        """False once a search for cycles has freed nothing; then none is made any more."""
        self._gradient_came = False
        """True if a gradient has reached the parameters since the last pass ended."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "GraphMeter":
        return self  # the hooks of a copied model report here too

    def watch(self, model: nn.Module) -> list[RemovableHandle]:
        """Follow the activations of the model's linear layers from now on; return the hooks, to be removed."""
        return [
            module.register_forward_pre_hook(self._note_input)
            for module in model.modules()
            if isinstance(module, nn.Linear)
        ]

    def forwarded(self, outputs: Tensor) -> None:
        """Note that a forward pass has ended with these outputs, one row for each sample, and count what is alive."""
        inputs, self._inputs = self._inputs, []
        if outputs.grad_fn is None:
            return
        token, samples = _GraphToken(), len(outputs)
        outputs.grad_fn.register_hook(token)
        self._drop_freed()
        if len(self._passes) > HELD_BY_NAMES or any(p.has_activations() for p in self._passes):
            self._free_cycles()
        held = [p for p in self._passes if p.has_activations()]
        if len(held) == 1 and not self._gradient_came:
            held = []  # code that skips a backward holds this pass by its names only, until they are bound anew
        self._gradient_came = False
        self.samples = max(self.samples, sum(p.samples for p in held) + samples)
        self.largest = max(self.largest, samples)
        graphs = sum(p.has_graph() for p in self._passes if p.is_training == self._is_training)
        if self._is_training:
            earlier = sum(p.samples for p in held if p.is_training)
            self.training_samples = max(self.training_samples, earlier + samples)
            self.training_largest = max(self.training_largest, samples)
            self.graphs = max(self.graphs, graphs)
        else:
            self.evaluation_graphs = max(self.evaluation_graphs, graphs)
        self._passes.append(_Pass(samples, self._is_training, ref(token), inputs))

    def gradient(self) -> None:
        """Note that a backward pass has reached the parameters."""
        self._gradient_came = True

    def alive(self) -> int:
        """Return the number of passes whose graph or activations are alive now."""
        self._drop_freed()
        if self._passes:
            self._free_cycles()
        return len(self._passes)

    def _free_cycles(self) -> None:
        """Free what only a cycle of the learner's own objects keeps, which is as good as freed.

        Once nothing was freed, the program really holds what is alive, and a look (tens of milliseconds) is saved.
        """
        if self._may_have_cycles:
            before = len(self._passes)
            gc.collect()
            self._drop_freed()
            self._may_have_cycles = len(self._passes) < before

    def _drop_freed(self) -> None:
        """Forget the passes of which nothing is alive any more."""
        self._passes = [p for p in self._passes if p.has_graph() or p.has_activations()]

    def _note_input(self, layer: nn.Module, args: tuple[Any, ...]) -> None:
        """Follow an input that another layer has computed; data are alive anyway. This is a linear layer's pre-hook."""
        self._is_training = layer.training
        if args and isinstance(args[0], Tensor) and args[0].grad_fn is not None:
            self._inputs.append(ref(args[0]))
