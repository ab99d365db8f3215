"""Ranks whose shares differ: digits and clauses of unequal number, and statistics of a batch that ranks share.

Everything is on the CPU, because a forked process cannot use a GPU that its parent has used.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F

from grader.experiments.several_processes.digits import Batch, loss_fn, make_batches, make_model
from grader.experiments.vectors import flat
from grader.paths import asset_path

SHARES = (slice(0, 10), slice(10, 64))
"""The part of a batch of 64 that each of two ranks gets."""


def digits_gradient(seed: int) -> Tensor:
    """Return the gradient of one process that has all 64 images."""
    model = make_model(seed)
    ((images, labels),) = make_batches(seed, 1)
    loss_fn(model(images), labels).backward()
    return _gradient(model)


def clauses_of(rank: int, seed: int) -> Batch:
    """Draw eight clauses of the constitution and return the four shortest (rank 0) or longest (rank 1), padded."""
    return _padded(_drawn(seed)[4 * rank : 4 * rank + 4])


def clauses_gradient(seed: int) -> Tensor:
    """Return the gradient of one process that has all eight clauses, each token with the same share."""
    model = make_letters(seed)
    inputs, targets = _padded(_drawn(seed))
    F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=-100).backward()
    return _gradient(model)


def make_letters(seed: int) -> nn.Sequential:
    """Return a model that guesses the next character from the one before it: (batch, time) to (batch, time, V)."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Embedding(len(_alphabet), 32), nn.Linear(32, len(_alphabet))).double()


def _gradient(model: nn.Module) -> Tensor:
    return flat(p.grad for p in model.parameters() if p.grad is not None)


# The law has no copyright; where the text comes from is written in the README beside it.
_text = asset_path("data", "constitution", "constitution.txt").read_text(encoding="utf-8")
_alphabet = {character: number for number, character in enumerate(sorted(set(_text)))}
_clauses = [line for line in _text.split("\n") if len(line) > 5]


def _drawn(seed: int) -> list[str]:
    """Return eight clauses, the shortest first, as a sampler sorts that wants little padding."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [_clauses[at] for at in torch.randperm(len(_clauses), generator=generator)[:8].tolist()]
    return sorted(drawn, key=len)


def _padded(lines: Sequence[str]) -> Batch:
    """Make one batch of the lines: inputs, and targets that are -100 where there is padding."""
    rows = [torch.tensor([_alphabet[character] for character in line]) for line in lines]
    inputs = nn.utils.rnn.pad_sequence([row[:-1] for row in rows], batch_first=True)
    targets = nn.utils.rnn.pad_sequence([row[1:] for row in rows], batch_first=True, padding_value=-100)
    return inputs, targets


class _SumOverRanks(torch.autograd.Function):
    """A sum over the ranks that gradients go back through, to every rank."""

    @staticmethod
    def forward(_: Any, mine: Tensor) -> Tensor:
        total = mine.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        dist.all_reduce(total)
        return total


def sum_over_ranks(mine: Tensor) -> Tensor:
    """Return the sum of the ranks' tensors, which can be differentiated."""
    total: Tensor = _SumOverRanks.apply(mine)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return total
