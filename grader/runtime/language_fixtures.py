"""A GPT of 197 parameters in float64, and tokens for it: what the drivers of language models build on."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.runtime.fixtures import Net, initialised
from grader.runtime.play import Env

TOKENS, TIME = 7, 4
"""Size of the vocabulary, and the longest sequence."""
_WIDTH = 5


class _Embedding(nn.Module):
    """Token and position vectors, added."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, _WIDTH)
        self.positions = nn.Embedding(TIME, _WIDTH)

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, time, width) for ids (batch, time)."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        embedded: Tensor = self.tokens(ids) + self.positions(positions)
        return embedded


class _CausalAttention(nn.Module):
    """One head over the past. No biases: that of the keys would have a true gradient of zero."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(_WIDTH, 3 * _WIDTH, bias=False)
        self.out = nn.Linear(_WIDTH, _WIDTH, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """(batch, time, width) for the same shape; position t sees positions up to t."""
        query, key, value = self.qkv(hidden).chunk(3, dim=-1)
        scores = query @ key.transpose(1, 2) / math.sqrt(_WIDTH)
        time = hidden.shape[1]
        future = torch.ones(time, time, dtype=torch.bool, device=hidden.device).triu(1)
        attended = scores.masked_fill(future, -math.inf).softmax(dim=-1) @ value
        mixed: Tensor = hidden + self.out(attended)
        return mixed


def gpt(env: Env, dropout: float = 0.0) -> Net:
    """Logits (batch, time, tokens) for ids (batch, time ≤ 4)."""
    layers = [_Embedding(), _CausalAttention(), nn.Dropout(dropout), nn.Linear(_WIDTH, TOKENS)]
    return initialised(Net(layers), env, "gpt")


def token_ids(env: Env, size: int, salt: str, time: int = TIME) -> Tensor:
    """Random tokens (size, time)."""
    return torch.randint(0, TOKENS, (size, time), generator=env.generator(salt)).to(env.device)


def token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over the positions that count."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
