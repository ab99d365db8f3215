"""Note the precisions to which autocast is set during forward passes, losses and backward passes.

An `AutocastNet` writes into its `AutocastNotes` while the learner's function runs. Afterwards `_mixed_precision.py` and
`_training_run.py` record from the notes, by `Recorder.claim`, a fact and a witness for each *part*: the forward pass,
the loss or the backward pass of a step. To note another part, call `note` with its Korean name where it runs.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import LossFn, Net
from grader.observe.play import Env
from grader.observe.trace import Fact


class AutocastNotes:
    """The precisions to which autocast was set in each part of a step, such as its forward or its backward pass.

    For each precision, the notes hold its name and the product of two random numbers, computed in that precision. The
    sum of these products is the witness: it follows from the seed, and so proves that the part ran.
    """

    def __init__(self, env: Env) -> None:
        """Start without notes, and draw the two numbers from the scenario's env."""
        self.seen: dict[str, dict[str, float]] = {}
        """Korean name of a part of the step -> (name of a precision -> product computed in it)."""
        self.passes: Counter[str] = Counter()
        """Korean name of a part of the step -> number of its notes."""
        # Matrices of one element: autocast rounds products of matrices, as layers compute them, but not products of
        # single elements.
        self._factors = torch.rand(2, 1, 1, generator=env.generator("factors")) + 1.0

    def note(self, part: str, device_type: str) -> None:
        """Note the precision to which autocast is set now, for a part of the step (its Korean name)."""
        is_on = torch.is_autocast_enabled(device_type)
        dtype = str(torch.get_autocast_dtype(device_type)).removeprefix("torch.") if is_on else "꺼짐"
        one, other = self._factors.to(device_type)
        with torch.no_grad():
            self.seen.setdefault(part, {})[dtype] = float(one @ other)
        self.passes[part] += 1

    def clear(self) -> None:
        """Forget all notes."""
        self.seen.clear()
        self.passes.clear()

    def fact(self, part: str) -> Fact:
        """Return the names of a part's precisions, each once, sorted; `["없음"]` if the part never ran."""
        return [*sorted(self.seen.get(part) or ["없음"])]

    def witness(self, part: str) -> list[float]:
        """Return the sum of a part's products, one for each precision, as a list of one number; 0 if it never ran."""
        return [sum(self.seen.get(part, {}).values())]

    def __deepcopy__(self, memo: dict[int, Any]) -> "AutocastNotes":
        """Return the same object, so that a copy of the net writes its notes into the same record."""
        return self


class AutocastNet(Net):
    """A net that notes the precision to which autocast is set, but computes in float64, which autocast leaves alone.

    `fixtures.classifiers.initialize` makes its parameters float64. In bfloat16, right programs that add up gradients in
    different orders would end far apart: a difference in the last of the 24 bits of a float32 weight can grow 2**16
    times when it is rounded to the 8 bits of bfloat16.
    """

    def __init__(self, layers: Sequence[nn.Module], env: Env) -> None:
        super().__init__(layers)
        self.notes = AutocastNotes(env)
        """What was noted of this net and its copies."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits of shape (batch, classes), in float64, and note the precisions of forward and backward pass."""
        device_type = inputs.device.type
        # Evaluation has a part of its own, so that its precision does not count as that of training.
        self.notes.note("순전파" if self.training else "평가 모드의 순전파", device_type)
        outputs = super().forward(inputs.double())
        if outputs.requires_grad:
            outputs.register_hook(lambda _: self.notes.note("역전파", device_type))
        return outputs


def noting_loss(loss_fn: LossFn, notes: AutocastNotes) -> LossFn:
    """Return a loss function that also notes the precision to which autocast is set while it runs."""

    def noted(output: Tensor, target: Tensor) -> Tensor:
        notes.note("손실", output.device.type)
        return loss_fn(output, target)

    return noted
