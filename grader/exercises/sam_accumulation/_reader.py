"""A question-answering model of 58 parameters and batches of questions for it, on which `train_qa` is run."""

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

_TOKENS, _TIME, _WIDTH = 11, 6, 4
_PAD, TRAIN, DEV = 0, 1, 2
"""Token ids: of padding, and of a sample's first token, which tells training samples from dev samples."""

MICRO, ACCUM = 3, 2
"""Samples in a micro-batch, and micro-batches in a window."""
_DEV_SIZES = (4, 2)
"""Samples in the dev batches. They differ, and the last one has more than one: a factor of its size shows."""
_NARROW = 4
"""Tokens of the shorter batches, where batches are only as wide as their longest question."""

JUDGED_EPOCHS = 7
_ADDED_LOSSES = (
    ((1.0, 4.0, 0.0, 3.0, 2.0, 2.5, 3.5), (3.0, 2.0, 2.5, 1.5, 1.0, 0.0, 0.5)),
    ((1.0, 4.0, 0.0, 3.5, 3.0, 2.0, 2.5), (3.0, 2.0, 2.5, 1.5, 0.0, 1.0, 0.5)),
    ((1.0, 2.5, 4.0, 0.0, 3.5, 2.0, 3.0), (3.0, 0.0, 2.5, 1.5, 1.0, 2.0, 0.5)),
    ((1.0, 4.0, 2.5, 0.0, 3.0, 2.0, 3.5), (3.0, 2.0, 0.0, 1.5, 1.0, 2.5, 0.5)),
)
"""Pairs of (dev, training) losses to add in each epoch; the seed says which pair. They are far larger than what
learning changes.

In each pair, every way of choosing an epoch finds another one: the lowest dev loss, the epoch after it (for counting
from one), the highest dev loss, the lowest mean of all dev losses so far, the last fall of the dev loss, the lowest
training loss, and the last epoch.
"""

Batch = dict[str, Tensor]


class Answer(NamedTuple):
    """The output of Hugging Face models for extractive question answering."""

    loss: Tensor | None
    start_logits: Tensor
    end_logits: Tensor

    def __getitem__(self, key: Any) -> Any:
        """Return an entry by position or by name."""
        return getattr(self, key) if isinstance(key, str) else tuple(self)[key]


@dataclass
class Rounds:
    """The number of times that the training data have been read to the end."""

    done: int = 0


@dataclass
class Loader:
    """Batches to iterate over, any number of times; each comes as a new dict.

    With several `epochs`, each reading to the end is followed by other batches.
    """

    held: list[Batch]
    epochs: int = 1
    rounds: Rounds = field(default_factory=Rounds)

    def __iter__(self) -> Iterator[Batch]:
        start = self.rounds.done % self.epochs * len(self)
        for batch in self.held[start : start + len(self)]:
            yield dict(batch)
        self.rounds.done += 1

    def __len__(self) -> int:
        return len(self.held) // self.epochs


class Reader(nn.Module):
    """A model that gives start and end logits for every token, from the token and its two neighbours.

    If it is `moody`, its logits are halved in eval mode, so that every number shows the mode of its forward pass. The
    head has no bias: the true gradient of a bias would be zero.
    """

    stamp: Tensor

    def __init__(self, env: Env, rounds: Rounds, *, temper: float, moody: bool) -> None:
        super().__init__()
        self.tokens = nn.Embedding(_TOKENS, _WIDTH)
        self.mix = nn.Linear(_WIDTH, 2)
        self.head = nn.Linear(2, 2, bias=False)
        self.observer: Any = None
        self.register_buffer("stamp", torch.zeros(()))
        self.env, self.rounds = env, rounds
        self.dev_handicaps, self.train_handicaps = _ADDED_LOSSES[env.number("handicaps") % len(_ADDED_LOSSES)]
        self.temper, self.moody = temper, moody
        self.modes_seen: dict[int, dict[bool, float]] = {TRAIN: {}, DEV: {}}
        """For each kind of data: the modes in which it was read, with a number for each that follows from the seed."""
        self.judged: list[Array] = []
        """All weights as one vector, at the first forward pass over dev data in each epoch."""
        self.stamps: list[float] = []
        """The value of the buffer `stamp` at that moment: a new number in each epoch's first training pass."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
    ) -> Answer:
        """Return logits (batch, time), and the mean loss if the positions are given."""
        if self.observer is not None:
            self.observer.forward_started(input_ids)
        kind = int(input_ids[0, 0])
        self.modes_seen.setdefault(kind, {})[self.training] = seeded_number(
            self.env, "mode", kind, self.training
        )
        if kind == TRAIN:  # counted by epochs judged so far, because the data may have been read ahead
            self.stamp.fill_(seeded_number(self.env, "epoch", len(self.judged)))
        if kind == DEV and len(self.judged) < self.rounds.done:
            self.stamps.append(float(self.stamp))
            self.judged.append(torch.cat([p.detach().ravel() for p in self.parameters()]).cpu().numpy())
        if attention_mask is not None:
            mask = attention_mask.bool()
        elif start_positions is None:  # the grader wants logits alone, to find out what an update is made of
            mask = input_ids != _PAD
        else:  # as in Hugging Face's models: without a mask every token counts, padding too
            mask = torch.ones_like(input_ids, dtype=torch.bool)
        hidden = self.mix(self.tokens(input_ids))
        hidden = torch.tanh(hidden + hidden.roll(1, dims=1) * 0.5 - hidden.roll(-1, dims=1) * 0.3)
        logits = self.head(hidden) * self.temper * (0.5 if self.moody and not self.training else 1.0)
        logits = logits.masked_fill(~mask[:, :, None], -torch.inf)
        start, end = logits.unbind(dim=-1)
        if self.observer is not None:
            self.observer.forward_ended(start, self.training)
        if start_positions is None or end_positions is None:
            return Answer(None, start, end)
        loss = (F.cross_entropy(start, start_positions) + F.cross_entropy(end, end_positions)) / 2
        if kind == DEV:
            loss = loss + self.dev_handicaps[max(self.rounds.done - 1, 0) % JUDGED_EPOCHS]
        elif kind == TRAIN:
            loss = loss + self.train_handicaps[len(self.judged) % JUDGED_EPOCHS]
        return Answer(loss, start, end)


def _samples(env: Env, kind: int, shapes: Sequence[tuple[int, int]]) -> list[Batch]:
    """Return questions of different lengths in batches of these shapes; answers lie within the mask."""
    generator = env.generator(f"samples {kind}")
    result = []
    for size, width in shapes:
        ids = torch.randint(3, _TOKENS, (size, width), generator=generator)
        lengths = torch.randint(3, width + 1, (size,), generator=generator)
        mask = torch.arange(width) < lengths[:, None]
        ids[~mask] = _PAD
        ids[:, 0] = kind
        ends = [torch.randint(0, int(n), (2,), generator=generator).sort().values for n in lengths]
        spans = torch.stack(ends)
        batch = {
            "input_ids": ids,
            "attention_mask": mask.long(),
            "start_positions": spans[:, 0].clone(),
            "end_positions": spans[:, 1].clone(),
        }
        result.append({key: value.to(env.device) for key, value in batch.items()})
    return result


@dataclass(frozen=True)
class Case:
    """A reader, with the data to train and to judge it."""

    model: Any
    train: Loader
    dev: Loader


def make_case(
    env: Env,
    micro_batches: int = 4,
    *,
    epochs: int = 1,
    temper: float = 1.0,
    moody: bool = False,
    uneven: bool = False,
) -> Case:
    """Return a reader and its data, different in each of the `epochs`.

    Args:
        env: the scenario's env.
        micro_batches: micro-batches in an epoch.
        epochs: number of epochs with data of their own.
        temper: factor on the logits; the larger, the surer the reader is of its answers.
        moody: halve the logits in eval mode.
        uneven: every other window's batches have fewer tokens; within a window, batches can still be concatenated.
    """
    widths = [_NARROW if uneven and number // ACCUM % 2 else _TIME for number in range(micro_batches)]
    train = Loader(_samples(env, TRAIN, [(MICRO, width) for width in widths] * epochs), epochs)
    dev = Loader(_samples(env, DEV, [(size, _TIME) for size in _DEV_SIZES]))
    model: Any = Reader(env, train.rounds, temper=temper, moody=moody)
    return Case(initialize(model, env, "model"), train, dev)
