import io
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Trainer:
    model: Any
    opt: Any
    loss_fn: Any
    _: Any = field(default=None, kw_only=True)
    scheduler: Any = field(default=None, kw_only=True)
    accum_steps: int = field(default=1, kw_only=True)
    max_norm: float | None = field(default=None, kw_only=True)

    def __post_init__(self):
        self.history, self.best = [], None

    def parts(self):
        named = {"model": self.model, "opt": self.opt, "scheduler": self.scheduler}
        return {name: part for name, part in named.items() if part is not None}

    def windows(self, loader):
        window = []
        for batch in loader:
            window.append(batch)
            if len(window) == self.accum_steps:
                yield window
                window = []
        if window:
            yield window

    def train_window(self, window):
        self.model.zero_grad()
        n = sum(y.numel() for _, y in window)
        total = 0.0
        for x, y in window:
            share = self.loss_fn(self.model(x), y) * y.numel() / n
            share.backward()
            total += share.item()
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return total * n, n

    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            self.model.train()
            done = [self.train_window(window) for window in self.windows(train_loader)]
            train_loss = sum(loss for loss, _ in done) / sum(n for _, n in done)
            earlier = [v for _, v in self.history]
            self.history.append((train_loss, self.evaluate(val_loader)))
            if not earlier or self.history[-1][1] < min(earlier):
                self.best = deepcopy(self.model).state_dict()

    def evaluate(self, loader):
        frozen = deepcopy(self.model).eval().requires_grad_(False)
        total, n = 0.0, 0
        for x, y in loader:
            total += self.loss_fn(frozen(x), y).item() * y.numel()
            n += y.numel()
        return total / n

    def state_dict(self):
        buffer = io.BytesIO()
        parts = {name: part.state_dict() for name, part in self.parts().items()}
        torch.save({**parts, "history": self.history, "best": self.best}, buffer)
        buffer.seek(0)
        return torch.load(buffer, weights_only=True)

    def load_state_dict(self, state):
        for name, part in self.parts().items():
            part.load_state_dict(deepcopy(state[name]))
        self.history[:] = state["history"]
        self.best = state["best"]
