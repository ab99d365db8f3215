"""What is recorded while a GPT trains for longer: losses in eval mode, and the text that it writes after each epoch."""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from grader.experiments.bells_and_whistles.data import border, text
from grader.experiments.bells_and_whistles.gpt import GPT, token_loss, write


@torch.no_grad()
def evaluation(model: GPT, parts: Tensor) -> float:
    """Return the loss on the first 100 windows in eval mode; the model is in train mode afterwards."""
    model.eval()
    loss = token_loss(model, parts[:100]).item()
    model.train()
    return loss


class Diary:
    """Losses every 20 steps, and a text after each epoch, of which some are printed.

    Attributes:
        step: the steps at which losses were taken.
        train: training loss at each of them.
        val: validation loss at each of them.
        texts: name of a moment, and the text that the model wrote then.
    """

    def __init__(self, model: GPT, train_parts: Tensor, val_parts: Tensor, steps_per_epoch: int) -> None:
        self._model, self._parts = model, (train_parts, val_parts)
        self._steps_per_epoch = steps_per_epoch
        self.step: list[int] = []
        self.train: list[float] = []
        self.val: list[float] = []
        self.texts: list[tuple[str, str]] = []

    def write(self, name: str, *, shown: bool) -> None:
        """Keep what the model writes now."""
        self.texts.append((name, write(self._model, "국회는 ")))
        if shown:
            print(f"{name:>5}: {self.texts[-1][1]!r}", flush=True)

    def watching(self, shown: Collection[int]) -> Callable[[int], None]:
        """Return what `train_with` calls after each step; texts after the epochs in `shown` are printed."""

        def watch(step: int) -> None:
            if step % 20 == 0:
                self.step.append(step)
                self.train.append(evaluation(self._model, self._parts[0]))
                self.val.append(evaluation(self._model, self._parts[1]))
            epoch, rest = divmod(step + 1, self._steps_per_epoch)
            if rest == 0:
                self.write(f"{epoch}에폭", shown=epoch in shown)

        return watch


def longest_copy(sample: str) -> int:
    """Return the length of the longest piece of `sample` that stands in the training text."""
    learned = text[:border]
    return max(
        size
        for size in range(len(sample))
        for at in range(len(sample) - size)
        if sample[at : at + size] in learned
    )
