"""Clauses of the constitution, of all lengths, padded to batches and accumulated with different shares."""

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.bells_and_whistles.data import border, device, number_of, text, tokens
from grader.experiments.bells_and_whistles.gpt import flat, make_gpt
from grader.experiments.bells_and_whistles.stored import Run

Batch = tuple[Tensor, Tensor]
"""Inputs, and targets that are -100 where there is padding."""

clauses = [line for line in text[:border].split("\n") if len(line) > 5]


def padded(lines: Sequence[str]) -> Batch:
    """Make one batch of some clauses."""
    rows = [tokens.new_tensor([number_of[character] for character in line[:120] + "\n"]) for line in lines]
    longest = max(len(row) for row in rows)
    x = tokens.new_zeros(len(rows), longest - 1)
    y = torch.full_like(x, -100)
    for at, row in enumerate(rows):
        x[at, : len(row) - 1], y[at, : len(row) - 1] = row[:-1], row[1:]
    return x.to(device), y.to(device)


def valid_tokens(batch: Batch) -> int:
    """Return how many targets are not padding."""
    return int((batch[1] != -100).sum())


def draws(count: int, seed: int) -> Iterator[list[str]]:
    """Draw eight clauses, `count` times."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        yield [clauses[at] for at in torch.randperm(len(clauses), generator=generator)[:8].tolist()]


def in_pairs(lines: Sequence[str]) -> list[Batch]:
    """Return micro-batches of two clauses each."""
    return [padded(lines[at : at + 2]) for at in range(0, len(lines), 2)]


def shared_gradient(
    model: nn.Module, micro_batches: Sequence[Batch], shares: Sequence[float]
) -> tuple[Tensor, float]:
    """Accumulate each micro-batch's mean loss times its share; return the gradient and the sum of the losses."""
    model.zero_grad()
    total_loss = 0.0
    for (x, y), share in zip(micro_batches, shares, strict=True):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) * share
        loss.backward()
        total_loss += loss.item()
    return flat(p.grad for p in model.parameters() if p.grad is not None), total_loss


def clause_run(by_tokens: bool, seed: int) -> Run:
    """Update 120 times on eight clauses each, weighted by tokens or as a mean of means."""
    reported = []
    model = make_gpt(seed, context=120)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    for chosen in draws(120, seed):
        window = in_pairs(sorted(chosen, key=len))  # clauses of similar length need less padding
        counts = [valid_tokens(batch) for batch in window]
        shares = [count / sum(counts) if by_tokens else 1 / 4 for count in counts]
        reported.append(shared_gradient(model, window, shares)[1])
        opt.step()
    return {"reported": sum(reported[-30:]) / 30, **clause_losses(model)}


@torch.no_grad()
def clause_losses(model: nn.Module) -> Run:
    """Return the mean loss of a token in the 60 shortest and in the 60 longest clauses."""
    ordered = sorted(clauses, key=len)
    parts = {"short": padded(ordered[:60]), "long": padded(ordered[-60:])}
    return {
        name: F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item() for name, (x, y) in parts.items()
    }
