"""Make a tiny GPT, batches for it and values of `max_norm`, with which the driver `train_gpt` calls the function.

The model is `fixtures/language.py gpt`; how many samples there are is in the constants here, and of how many tokens in
`token_ids` there. For a check that needs other data, add an argument to `make_gpt_case`, as `with_limits`. What changes
the data of scenarios that exist changes their runs, too: see "A scenario" in grader/ADDING.md for what to build anew.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import Net
from grader.exercises.fixtures.language import gpt, token_ids, token_loss
from grader.observe.play import Env

_TokenBatch = tuple[Tensor, Tensor]
"""Token ids and targets, both int64 and of shape (samples, time)."""

_TRAIN_SIZES = (3, 2, 1, 4)
"""Samples in each training batch."""
_VAL_SIZES = (2, 4, 1)
"""Samples in each validation batch. They differ, so that a mean over samples differs from a mean over batches."""
_MAX_CACHED = 32
"""Maximum number of data sets in the cache: one for each scenario of `train_gpt` at one seed, and room for more."""


@dataclass(frozen=True)
class GptCase:
    """A model, its data and, if asked for, limits for clipping that fit the gradients of these data."""

    model: Net
    train_batches: Sequence[_TokenBatch]
    val_batches: Sequence[_TokenBatch]
    limit_for_large: float | None
    """A `max_norm` that clips the updates with the batches in the middle, and leaves some others alone. None in a case
    without limits.

    So it is in both epochs of the scenario `clip` for 920 of 1,000 seeds. For all of them, the second update is
    clipped, which is in the warm-up; for 12, no update is left alone.
    """
    limit_for_all: float | None
    """A `max_norm` that clips every update. None in a case without limits.

    It lies below the largest component that each gradient has at the start, so that clipping by value acts too and
    shows: that component is at least 1/√197 = 0.07 of the norm, as there are 197 parameters, and the limit is 0.04 of
    the smallest norm.
    """


def make_gpt_case(env: Env, dropout: float = 0.0, *, with_limits: bool = False) -> GptCase:
    """Return a model in train mode, its data and, if `with_limits`, limits that fit the norms of the gradients."""
    data = _make_data(env, with_limits)
    limit_for_large, limit_for_all = None, None
    if with_limits:
        # Halfway, on a log scale, between the large norms in the middle and the small one at the end.
        limit_for_large = math.sqrt(min(data.norms[1:-1]) * data.norms[-1])
        limit_for_all = 0.04 * min(data.norms)
    return GptCase(
        gpt(env, dropout).train(),
        _copies(data.train_batches),
        _copies(data.val_batches),
        limit_for_large,
        limit_for_all,
    )


class _Data(NamedTuple):
    """The batches of a case, and how large the gradients are that they give."""

    train_batches: Sequence[_TokenBatch]
    val_batches: Sequence[_TokenBatch]
    norms: Sequence[float]
    """L2 norm of each training batch's gradient at the start; empty if no norms were asked for."""


@lru_cache(maxsize=_MAX_CACHED)
def _make_data(env: Env, with_norms: bool) -> _Data:
    """Return the data of a case; the norms only if `with_norms`.

    The targets make the norms differ: the first training batch has random targets, the last one those that the model
    finds most likely (a small gradient), and those in between the least likely ones (large gradients).

    The result is cached, so do not write to the tensors. A diagnosis plays a scenario many times, and making the data
    anew would add about a tenth to that time (a quarter to a half where norms are needed).
    """
    # Making a model draws initial weights from the global generator, here in the first play only. The random state is
    # put back, so that the learner's function finds the same one in later plays, whose data come from the cache.
    with torch.random.fork_rng(devices=()):
        model = gpt(env).eval()
    train: list[_TokenBatch] = []
    norms: list[float] = []
    for number, size in enumerate(_TRAIN_SIZES):
        inputs = token_ids(env, size, f"input {number}")
        if number == 0:
            targets = token_ids(env, size, f"target {number}")
        else:
            with torch.no_grad():
                logits = model(inputs)
            is_last = number == len(_TRAIN_SIZES) - 1
            targets = logits.argmax(dim=-1) if is_last else logits.argmin(dim=-1)
        train.append((inputs, targets))
        if with_norms:
            grads = torch.autograd.grad(token_loss(model(inputs), targets), list(model.parameters()))
            norms.append(math.sqrt(sum(float(grad.square().sum()) for grad in grads)))
    # The targets have the salt "val …", not "val target …": with another, all recorded runs would change.
    val = [
        (token_ids(env, size, f"val input {number}"), token_ids(env, size, f"val {number}"))
        for number, size in enumerate(_VAL_SIZES)
    ]
    return _Data(train, val, norms)


def _copies(batches: Sequence[_TokenBatch]) -> list[_TokenBatch]:
    """Return copies, so that a learner's function that writes to a batch does not change the cached one."""
    return [(inputs.clone(), targets.clone()) for inputs, targets in batches]
