from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F


def cosine(progress):
    return 0.5 + 0.5 * np.cos(np.pi * progress)


@dataclass
class Trainer:
    model: Any
    optimizer: Any
    device: Any
    warmup: int
    total: int
    low: float
    floor: float
    history: dict = field(default_factory=lambda: defaultdict(list))
    step: int = 0
    tokens: int = 0

    def __post_init__(self):
        self.peaks = [group["lr"] for group in self.optimizer.param_groups]

    def set_rates(self):
        for peak, group in zip(self.peaks, self.optimizer.param_groups):
            if self.step <= self.warmup and self.warmup > 0:
                rate = self.low + (peak - self.low) * (self.step / self.warmup)
            else:
                progress = min(1.0, (self.step - self.warmup) / max(1, self.total - 1 - self.warmup))
                rate = self.floor + (peak - self.floor) * cosine(progress)
            group["lr"] = float(rate)
        self.history["lrs"].append(self.optimizer.param_groups[0]["lr"])

    def loss(self, batch):
        x, y = (t.to(self.device) for t in batch)
        logits = self.model(x)
        b, t, v = logits.shape
        return F.cross_entropy(logits.reshape(b * t, v), y.reshape(b * t), reduction="sum") / (b * t)

    def update(self, batch, max_norm):
        self.set_rates()
        self.loss(batch).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.tokens += batch[0].nelement()

    @torch.no_grad()
    def evaluate(self, loader, n):
        self.model.eval()
        it = iter(loader)
        losses = [self.loss(next(it)).item() for _ in range(min(n, len(loader)))]
        self.model.train()
        return float(np.mean(losses))


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    t = Trainer(model, optimizer, device, warmup_steps, len(train_loader) * n_epochs, initial_lr, min_lr)
    for _ in range(n_epochs):
        model.train()
        for batch in train_loader:
            waits = clip_after_warmup and t.step < warmup_steps
            t.update(batch, None if waits else max_norm)
            if t.step % eval_freq == 0:
                t.history["train_losses"].append(t.evaluate(train_loader, eval_iter))
                t.history["val_losses"].append(t.evaluate(val_loader, eval_iter))
                t.history["tokens_seen"].append(t.tokens)
            t.step += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return t.history
