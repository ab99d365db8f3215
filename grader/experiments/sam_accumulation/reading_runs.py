"""Trainings of the reading model: with AdamW, with SAM around it, and the stored ones over several seeds."""

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LambdaLR

from grader.base.package import TEMPORARY_PREFIX
from grader.experiments.sam_accumulation.answers import score
from grader.experiments.sam_accumulation.cost import clock
from grader.experiments.sam_accumulation.digits import device
from grader.experiments.sam_accumulation.loops import VectorSAM
from grader.experiments.sam_accumulation.passages import LengthLoader, collate, dev_set, train_set
from grader.experiments.sam_accumulation.reader import Reader
from grader.experiments.sam_accumulation.vectors import set_weights
from grader.experiments.vectors import flat
from grader.paths import asset_path

KNOBS = ("rho", "lr", "weight_decay")
"""What was tuned; `rho` is 0 for AdamW."""


class Epoch(NamedTuple):
    """What one epoch came to."""

    train_loss: float
    dev_loss: float
    em: float
    f1: float
    seconds: float
    """Since the training began."""


def update_reader(
    model: nn.Module, opt: torch.optim.Optimizer, sam: VectorSAM, window: Sequence[dict[str, Tensor]]
) -> list[float]:
    """Update once on a window, without SAM if `sam.rho` is 0; return the loss of each micro-batch."""
    losses = []
    for batch in window:
        loss = model(**batch).loss
        (loss / len(window)).backward()
        losses.append(loss.item())
    if sam.rho:
        sam.first_step(zero_grad=True)
        for batch in window:
            (model(**batch).loss / len(window)).backward()
        set_weights(model, sam.w)
    clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    return losses


def train_reader(
    *,
    rho: float,
    epochs: int,
    seed: int = 0,
    accum_steps: int = 2,
    lr: float = 3e-3,
    weight_decay: float = 0.01,
) -> tuple[Reader, list[Epoch]]:
    """Train with AdamW, with SAM around it unless `rho` is 0, and print a line for each epoch.

    Returns:
        The model of the epoch with the lowest validation loss, and all epochs.
    """
    torch.manual_seed(seed)
    model = Reader().to(device)
    loader = LengthLoader(train_set, 8, shuffle=True, seed=seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    sam = VectorSAM(model, opt, rho)
    total_steps = epochs * math.ceil(len(loader) / accum_steps)
    scheduler = LambdaLR(opt, lambda k: min((k + 1) / 20, max(0.02, 1 - k / total_steps)))
    history: list[Epoch] = []
    begin = clock()
    with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX) as scratch:
        best = Path(scratch) / "reader.pt"
        for epoch in range(epochs):
            model.train()
            epoch_losses, stream = [], iter(loader)
            while window := list(islice(stream, accum_steps)):
                epoch_losses += update_reader(model, opt, sam, window)
                scheduler.step()
            lowest = min((one.dev_loss for one in history), default=math.inf)
            history.append(Epoch(mean(epoch_losses), *score(model, dev_set), clock() - begin))
            print(
                f"ρ = {rho}, 에폭 {epoch + 1}: "
                f"학습 손실 {history[-1].train_loss:.2f}, 검증 손실 {history[-1].dev_loss:.2f}"
            )
            if history[-1].dev_loss < lowest:
                torch.save(model.state_dict(), best)
        model.load_state_dict(torch.load(best, weights_only=True))
    return model, history


def stored_runs() -> list[dict[str, Any]]:
    """Read the trainings that `assets/data/reader_runs/measure_reader_runs.py` measured."""
    runs: list[dict[str, Any]] = json.loads(
        asset_path("data", "reader_runs", "runs.json").read_text(encoding="utf-8")
    )
    return runs


def stored_log(run: Mapping[str, Any]) -> list[Epoch]:
    """Return what each epoch of a stored training came to."""
    return [Epoch(*epoch) for epoch in run["log"]]


def reader_rise(model: nn.Module, rho: float, steps: int) -> float:
    """Return by how much the loss on 32 short training questions grows when climbing inside the radius `rho`."""
    model.eval()
    batch = collate([one for one in train_set[::9] if len(one.context) < 90][:32])
    w, parameters = flat(model.parameters()), list(model.parameters())
    with torch.no_grad():
        lowest = float(model(**batch).loss)
    e = torch.zeros_like(w)
    for _ in range(steps):
        g = flat(torch.autograd.grad(model(**batch).loss, parameters))
        e = e + (1.0 if steps == 1 else 0.3) * rho * g / g.norm()
        e = e * min(1.0, rho / e.norm().item())
        set_weights(model, w + e)
    with torch.no_grad():
        rise = float(model(**batch).loss) - lowest
    set_weights(model, w)
    return rise
