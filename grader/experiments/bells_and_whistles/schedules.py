"""Trainings that take a warm-up apart, and one that goes on after the end of its schedule."""

import math

import torch

from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.gpt import make_gpt
from grader.experiments.bells_and_whistles.stored import Run, summary
from grader.experiments.bells_and_whistles.training import climb_then, short_run, train_with, validation_loss


def fill_only(seed: int) -> Run:
    """Fill m and v in 40 steps at rate 0, then train for 60 at the peak of 0.006."""
    return summary(*short_run([0.0] * 40 + [0.006] * 60, seed), 40)


def move_only(seed: int) -> Run:
    """Warm up in 40 steps, then go on for 60 at the peak with a new optimizer, whose m and v are empty."""
    model, stream = make_gpt(seed), batch_stream(short_train, seed)
    rates = climb_then("상수", peak=0.006, warmup=40, total=100)
    losses: list[float] = []
    norms: list[float] = []
    for part in (rates[:40], rates[40:]):
        opt = torch.optim.AdamW(model.parameters())
        more = train_with(part, model, opt, stream, clip_from=math.inf)
        losses += more[0]
        norms += more[1]
    return summary((losses, norms), validation_loss(model), 40)


def stranded(seed: int) -> Run:
    """Go on for 80 steps at the lowest rate after a cosine that was drawn for 180."""
    rates = climb_then("코사인", peak=0.01, warmup=40, total=180)
    return summary(*short_run(rates + [rates[-1]] * 80, seed, clip_from=0), 40)
