"""Trainings of lesson 03's GPT whose matrices Muon updates: none, those of the blocks, or all.

Measured before, over six seeds and four peaks, by `assets/data/muon_runs/measure_muon_runs.py`, which calls `muon_run`.
"""

from collections.abc import Callable, Iterable, Mapping
from statistics import fmean
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.gpt import make_gpt
from grader.experiments.bells_and_whistles.stored import Run, each, stored_runs
from grader.experiments.bells_and_whistles.training import climb_then, train_with, validation_loss

PEAKS = (0.003, 0.006, 0.009, 0.012)
"""Learning rates that are tried for each choice."""

CHOICES: Mapping[str, Callable[[str, nn.Parameter], bool]] = {
    "AdamW만": lambda name, p: False,
    "블록의 행렬을 Muon에": lambda name, p: p.ndim == 2 and name.startswith("blocks."),
    "임베딩과 출력 계층까지 Muon에": lambda name, p: p.ndim == 2,
}
"""What Muon updates; AdamW updates the rest."""


class MuonAndAdamW(Optimizer):
    """One optimizer of two: its groups are theirs, so a learning rate that is set reaches them."""

    def __init__(self, for_muon: Iterable[nn.Parameter], for_adamw: Iterable[nn.Parameter]) -> None:
        """Make both, without weight decay; Muon's rate is adjusted so that its steps are as long as AdamW's."""
        self.parts: list[Optimizer] = [
            torch.optim.Muon(for_muon, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(for_adamw, weight_decay=0.0),
        ]
        super().__init__([group for part in self.parts for group in part.param_groups], {})

    def step(self, closure: Any = None) -> Any:
        """Let both make their step; there is no closure."""
        for part in self.parts:
            part.step()


def muon_run(choice: str, peak: float, seed: int) -> Run:
    """Train for 180 steps along a cosine; return the last training and validation loss."""
    model = make_gpt(seed)
    named = list(model.named_parameters())
    for_muon = [p for name, p in named if CHOICES[choice](name, p)]
    rest = [p for name, p in named if not CHOICES[choice](name, p)]
    opt = MuonAndAdamW(for_muon, rest) if for_muon else torch.optim.AdamW(rest, weight_decay=0.0)
    rates = climb_then("코사인", peak=peak, warmup=20, total=180)
    losses, _ = train_with(rates, model, opt, batch_stream(short_train, seed))
    return {"train": fmean(losses[-10:]), "val": validation_loss(model)}


def muon_key(choice: str, peak: float) -> str:
    """Return the name of a training in the file."""
    return f"{choice} peak={peak}"


def runs_at(choice: str, peak: float) -> list[Run]:
    """Return the measured runs of the six seeds with this peak."""
    return stored_runs("muon_runs")[muon_key(choice, peak)]


def best_runs(choice: str) -> tuple[float, list[Run]]:
    """Return the peak with the lowest mean validation loss, and the six runs with it."""
    best = min(PEAKS, key=lambda peak: fmean(each(runs_at(choice, peak), "val")))
    return best, runs_at(choice, best)
