"""Make what one run of `train_gpt` is given: a tiny GPT, batches, and norm limits that clip some of its steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from grader.exercises.fixtures.classifiers import Batch, Net
from grader.exercises.fixtures.language import gpt, token_ids, token_loss
from grader.observe.play import Env

_TRAIN_SIZES, _VAL_SIZES = (3, 2, 1, 4), (2, 4, 1)


@dataclass(frozen=True)
class Case:
    """The model, data and norm limits of one training run."""

    model: Net
    train: Sequence[Batch]
    val: Sequence[Batch]
    max_norm: float
    """A limit that clips the second and third step and leaves some others alone, whatever the seed (measured: 60
    seeds); infinite in a case without limits.
    """
    below_largest: float
    """A limit that clips every step, and lies below each gradient's largest component (at least 1/√197 = 0.07 of the
    norm, as there are 197 parameters), so that clipping by value acts too. Infinite in a case without limits.
    """


@lru_cache(maxsize=32)
def _data(env: Env, dropout: float, limits: bool) -> tuple[Sequence[Batch], Sequence[Batch], Sequence[float]]:
    """Return training batches, validation batches and the norm of each training batch's gradient at the start.

    The norms are computed only with `limits`; otherwise there are none. The first training batch has random targets,
    the last the targets that the model finds most likely (a small gradient), those between the least likely (large
    gradients).

    The data are cached, so do not write to the tensors: a scenario is played a hundred times for one diagnosis, and
    making them would take a third of the time.
    """
    # The model's dropout draws random numbers here in the first play only; the state is put back, so that the student's
    # function finds the same one in later plays, whose data come from the cache.
    with torch.random.fork_rng(devices=()):
        model = gpt(env, dropout)
    model.eval()
    train = []
    norms: list[float] = []
    for number, size in enumerate(_TRAIN_SIZES):
        inputs, targets = token_ids(env, size, f"input {number}"), token_ids(env, size, f"target {number}")
        if number > 0:
            with torch.no_grad():
                logits = model(inputs)
            targets = logits.argmax(dim=-1) if number == len(_TRAIN_SIZES) - 1 else logits.argmin(dim=-1)
        train.append((inputs, targets))
        if limits:
            grads = torch.autograd.grad(token_loss(model(inputs), targets), list(model.parameters()))
            norms.append(math.sqrt(sum(float(g.square().sum()) for g in grads)))
    val = [
        (token_ids(env, n, f"val input {i}"), token_ids(env, n, f"val {i}")) for i, n in enumerate(_VAL_SIZES)
    ]
    return train, val, norms


def _copied(batches: Sequence[Batch]) -> list[Batch]:
    return [(inputs.clone(), targets.clone()) for inputs, targets in batches]


def make_case(env: Env, dropout: float = 0.0, *, limits: bool = False) -> Case:
    """Return a model in train mode, its data and, with `limits`, finite norm limits."""
    train, val, norms = _data(env, dropout, limits)
    max_norm, below_largest = math.inf, math.inf
    if limits:
        max_norm = math.sqrt(min(norms[1:3]) * norms[3])  # between the large norms and the last, small one
        below_largest = 0.04 * min(norms)
    return Case(gpt(env, dropout).train(), _copied(train), _copied(val), max_norm, below_largest)
