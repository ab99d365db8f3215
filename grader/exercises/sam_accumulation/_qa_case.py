"""A question-answering model of 58 parameters and batches of questions for it, on which `train_qa` is played.

The data are in two *splits*, for training and for the dev loss. The first token of each question tells its split. By
this token, the model notes in which mode it read which split, and adds a number to the loss of each epoch, so that it
is known which epoch is the best. To make models or data differ in another way, add an argument to `make_qa_case`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.exercises.fixtures.classifiers import initialize
from grader.exercises.fixtures.witnesses import seeded_number
from grader.observe.play import Env
from grader.observe.trace import Array

Batch = dict[str, Tensor]
"""`input_ids`, `attention_mask`, `start_positions` and `end_positions`."""

_VOCABULARY, _LENGTH, _WIDTH = 11, 6, 4
"""Number of token ids, tokens in a question, and size of a token's vector."""
_PAD = 0
"""Token id of padding."""
TRAIN, DEV = 1, 2
"""The two splits: token ids at the start of each training question and of each dev question."""
_FIRST_WORD = 3
"""Lowest token id of the words; padding and the two splits have lower ones."""

MICRO_BATCH_SIZE = 3
"""Samples in a micro-batch."""
ACCUM_STEPS = 2
"""Micro-batches in a window, unless a scenario says otherwise."""
_DEV_SIZES = (4, 2)
"""Samples in the dev batches. They differ, so that a mean of the batches' means shows. The last batch has more than one
sample, so that a loss multiplied or divided by its size shows.
"""
_SHORT_LENGTH = 4
"""Tokens in a question of the windows that are shorter than the others."""

SCORED_EPOCHS = 7
"""Number of epochs in `best-epoch` and `checkpoint`. The scenarios with a tie have fewer, and losses of their own."""
_ADDED_LOSSES = (
    ((1.0, 4.0, 0.0, 3.0, 2.0, 2.5, 3.5), (12.0, 8.0, 10.0, 6.0, 4.0, 0.0, 2.0)),
    ((1.0, 4.0, 0.0, 3.5, 3.0, 2.0, 2.5), (12.0, 8.0, 10.0, 6.0, 0.0, 4.0, 2.0)),
    ((1.0, 2.5, 4.0, 0.0, 3.5, 2.0, 3.0), (12.0, 0.0, 10.0, 6.0, 4.0, 8.0, 2.0)),
    ((1.0, 4.0, 2.5, 0.0, 3.0, 2.0, 3.5), (12.0, 8.0, 0.0, 6.0, 4.0, 10.0, 2.0)),
)
"""Pairs of (dev, training) losses to add, one number for each epoch. The seed says which pair is used.

Dev losses of two epochs differ by 0.5 or more; learning changes them by less (0.31 at most, measured with 20 seeds).
Training losses differ by 2 or more, because each epoch may have batches of its own, whose losses differ by up to 1.

In each pair, every way of choosing an epoch finds another one: the lowest dev loss, the epoch after it (for counting
from one), the highest dev loss, the lowest mean of all dev losses so far, the last fall of the dev loss, the lowest
training loss, and the last epoch (`tests/exercises/test_qa_case.py`).
"""


@dataclass(frozen=True)
class QACase:
    """A reader, with the data to train it and the data for its dev loss."""

    model: "Reader"
    train: "Loader"
    dev: "Loader"


def make_qa_case(
    env: Env,
    micro_batches: int = 4,
    *,
    epochs: int = 1,
    logit_scale: float = 1.0,
    halve_in_eval: bool = False,
    uneven: bool = False,
    dev_batches: int = len(_DEV_SIZES),
    added_dev_losses: Sequence[float] | None = None,
) -> QACase:
    """Return a reader and its data.

    Args:
        env: the scenario's env.
        micro_batches: micro-batches in an epoch.
        epochs: number of epochs with data of their own; after these, they begin again with the first.
        logit_scale: factor on the logits. The larger, the surer the reader is of its answers, and the larger are its
            gradients.
        halve_in_eval: halve the logits in eval mode, so that every number shows the mode of its forward pass.
        uneven: the questions of every other `ACCUM_STEPS` micro-batches have fewer tokens. In windows of that many,
            batches can still be concatenated.
        dev_batches: batches of dev data.
        added_dev_losses: a number for each epoch, which the model adds to its dev losses. None: those of a pair of
            `_ADDED_LOSSES`.
    """
    lengths = [
        _SHORT_LENGTH if uneven and number // ACCUM_STEPS % 2 else _LENGTH for number in range(micro_batches)
    ]
    train = Loader(
        _make_batches(env, TRAIN, [(MICRO_BATCH_SIZE, length) for length in lengths] * epochs), epochs
    )
    dev_sizes = [_DEV_SIZES[number % len(_DEV_SIZES)] for number in range(dev_batches)]
    dev = Loader(_make_batches(env, DEV, [(size, _LENGTH) for size in dev_sizes]))
    model = Reader(env, train.progress, logit_scale=logit_scale, halve_in_eval=halve_in_eval)
    if added_dev_losses is not None:
        model.added_dev_losses = tuple(added_dev_losses)
    return QACase(initialize(model, env, "model"), train, dev)


def _make_batches(env: Env, split: int, shapes: Sequence[tuple[int, int]]) -> list[Batch]:
    """Return batches of questions of different lengths; the answers lie within the mask.

    Args:
        env: the scenario's env.
        split: first token of each question, `TRAIN` or `DEV`.
        shapes: samples and tokens of each batch, padding included.
    """
    generator = env.generator(f"samples {split}")
    batches = []
    for size, length in shapes:
        ids = torch.randint(_FIRST_WORD, _VOCABULARY, (size, length), generator=generator)
        unpadded_lengths = torch.randint(3, length + 1, (size,), generator=generator)
        mask = torch.arange(length) < unpadded_lengths[:, None]
        ids[~mask] = _PAD
        ids[:, 0] = split
        starts_and_ends = torch.stack(
            [
                torch.randint(0, int(unpadded), (2,), generator=generator).sort().values
                for unpadded in unpadded_lengths
            ]
        )
        batch = {
            "input_ids": ids,
            "attention_mask": mask.long(),
            "start_positions": starts_and_ends[:, 0].clone(),
            "end_positions": starts_and_ends[:, 1].clone(),
        }
        batches.append({key: value.to(env.device) for key, value in batch.items()})
    return batches


@dataclass
class Progress:
    """How far a training is, as counted by the loader of its data and by the model."""

    times_read: int = 0
    """Number of times that the training data have been read to the end."""
    epochs_scored: int = 0
    """Number of epochs that have been scored on dev data: the number of the current epoch, counted from 0.

    `times_read` would not do: a program may read the training data once more, to count samples or to measure a loss.
    """


@dataclass
class Loader:
    """Batches to iterate over, any number of times; each comes as a new dict.

    With several `epochs`, each has batches of its own: those of the next epoch follow once an epoch is scored. A
    reading counts when its last batch is handed out, because `zip(range(len(loader)), loader)` never asks for more.
    """

    batches: list[Batch]
    """The batches of all epochs, one epoch after the other."""
    epochs: int = 1
    progress: Progress = field(default_factory=Progress)

    def __iter__(self) -> Iterator[Batch]:
        start = self.progress.epochs_scored % self.epochs * len(self)
        for number, batch in enumerate(self.batches[start : start + len(self)], start=1):
            if number == len(self):
                self.progress.times_read += 1
            yield dict(batch)

    def __len__(self) -> int:
        return len(self.batches) // self.epochs


class Answer(NamedTuple):
    """The output of Hugging Face models for extractive question answering."""

    loss: Tensor | None
    """Mean of the losses of start and end, plus the number that the model adds; None without positions."""
    start_logits: Tensor
    end_logits: Tensor

    def __getitem__(self, key: Any) -> Any:
        """Return an entry by name, or by its position among those that are not None, as Hugging Face's outputs do."""
        return (
            getattr(self, key)
            if isinstance(key, str)
            else [entry for entry in self if entry is not None][key]
        )


class Reader(nn.Module):
    """A model that gives start and end logits for every token, from the token and those before and after it.

    The last token stands before the first one, and padding is a neighbour like other tokens. The head has no bias: the
    true gradient of a bias would be zero.
    """

    stamp: Tensor
    """A buffer, and so part of every checkpoint. Each pass that trains (`_note_training`) writes a number there, by the
    epoch, so that it tells which epoch a checkpoint is from, even if the weights never change.
    """

    def __init__(self, env: Env, progress: Progress, *, logit_scale: float, halve_in_eval: bool) -> None:
        """Make a reader; see `make_qa_case` for the options.

        Args:
            env: the scenario's env.
            progress: shared with the loader of the training data.
            logit_scale: factor on the logits.
            halve_in_eval: halve the logits in eval mode.
        """
        super().__init__()
        self.tokens = nn.Embedding(_VOCABULARY, _WIDTH)
        self.mix = nn.Linear(_WIDTH, 2)
        self.head = nn.Linear(2, 2, bias=False)
        self.observer: Any = None
        self.register_buffer("stamp", torch.zeros(()))
        self.env, self.progress = env, progress
        self.guesses_mask = False
        """True for the grader's own passes, which know token ids only: without a mask, padding does not count."""
        # The salt keeps an older name of these losses, because another salt would choose another pair for each seed.
        pair = _ADDED_LOSSES[env.number("handicaps") % len(_ADDED_LOSSES)]
        self.added_dev_losses: tuple[float, ...] = pair[0]
        self.added_train_losses: tuple[float, ...] = pair[1]
        self.logit_scale, self.halve_in_eval = logit_scale, halve_in_eval
        self.modes_seen: dict[int, dict[bool, float]] = {TRAIN: {}, DEV: {}}
        """Split -> the modes in which it was read (True for train mode), each with a number that follows from the
        seed. Passes over training data that only measure do not count."""
        self.weights_scored: list[Array] = []
        """For each epoch, all weights as one vector at its first forward pass over dev data."""
        self.stamps_scored: list[float] = []
        """For each epoch, the number in `stamp` at that moment."""
        self._times_read_at_last_score = 0
        self._trained_since_last_score = False

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
    ) -> Answer:
        """Return logits (batch, time), and if the positions are given the mean loss plus the number to add."""
        if self.observer is not None:
            self.observer.forward_started(input_ids)
        split = int(input_ids[0, 0])
        if split == DEV:
            self._note_mode(split)
            self._note_score()
        elif torch.is_grad_enabled():  # without a graph, a pass over training data only measures a loss
            self._note_mode(split)
            self._note_training()
        if attention_mask is not None:
            mask = attention_mask.bool()
        elif self.guesses_mask:
            mask = input_ids != _PAD
        else:  # as in Hugging Face's models: without a mask every token counts, padding too
            mask = torch.ones_like(input_ids, dtype=torch.bool)
        start, end = self._logits(input_ids, mask)
        if self.observer is not None:
            self.observer.forward_ended(start, self.training)
        if start_positions is None or end_positions is None:
            return Answer(None, start, end)
        loss = (F.cross_entropy(start, start_positions) + F.cross_entropy(end, end_positions)) / 2
        if split == DEV:
            epoch_of_dev_loss = max(self.progress.epochs_scored - 1, 0)
            loss = loss + self.added_dev_losses[epoch_of_dev_loss % len(self.added_dev_losses)]
        elif split == TRAIN:
            loss = loss + self.added_train_losses[self.progress.epochs_scored % len(self.added_train_losses)]
        return Answer(loss, start, end)

    def _note_mode(self, split: int) -> None:
        """Note the mode of a forward pass over a split."""
        number = seeded_number(self.env, "mode", split, self.training)
        self.modes_seen.setdefault(split, {})[self.training] = number

    def _note_training(self) -> None:
        """Note a pass over training data that builds a graph, and so may train."""
        self.stamp.fill_(seeded_number(self.env, "epoch", self.progress.epochs_scored))
        self._trained_since_last_score = True

    def _note_score(self) -> None:
        """Score the epoch in its first pass over dev data after training data were read to the end and trained on."""
        has_read_all = self.progress.times_read > self._times_read_at_last_score
        if not (has_read_all and self._trained_since_last_score):
            return
        self._trained_since_last_score, self._times_read_at_last_score = False, self.progress.times_read
        self.progress.epochs_scored += 1
        self.stamps_scored.append(float(self.stamp))
        weights = torch.cat([p.detach().ravel() for p in self.parameters()])
        self.weights_scored.append(weights.cpu().numpy())

    def _logits(self, input_ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Return start and end logits (batch, time); -inf where the mask is False."""
        hidden = self.mix(self.tokens(input_ids))
        hidden = torch.tanh(hidden + hidden.roll(1, dims=1) * 0.5 - hidden.roll(-1, dims=1) * 0.3)
        factor_of_mode = 0.5 if self.halve_in_eval and not self.training else 1.0
        logits: Tensor = self.head(hidden) * self.logit_scale * factor_of_mode
        return logits.masked_fill(~mask[:, :, None], -torch.inf).unbind(dim=-1)
