# expect: state-not-copied
import copy

import torch
from torch import nn


def _clone(weights):
    return {k: v.detach().clone() for k, v in weights.items()}


class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model, self.opt, self.loss_fn = model, opt, loss_fn
        self.scheduler = scheduler
        self.accum_steps = accum_steps
        self.max_norm = max_norm
        self.history = []
        self.best = None
        self.best_loss = float("inf")

    def _windows(self, loader):
        chunk = []
        for pair in loader:
            chunk.append(pair)
            if len(chunk) == self.accum_steps:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _update(self, chunk):
        n = sum(len(y) for _, y in chunk)
        total = 0.0
        self.opt.zero_grad()
        for x, y in chunk:
            loss = self.loss_fn(self.model(x), y)
            (loss * len(y) / n).backward()
            total += loss.item() * len(y)
        if self.max_norm is not None:
            weights = [p for group in self.opt.param_groups for p in group["params"]]
            nn.utils.clip_grad_norm_(weights, self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return total, n

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            self.model.train()
            total, seen = 0.0, 0
            for chunk in self._windows(train_loader):
                part, n = self._update(chunk)
                total += part
                seen += n
            val = self.evaluate(val_loader)
            self.history.append((total / seen, val))
            if val < self.best_loss:
                self.best_loss = val
                self.best = _clone(self.model.state_dict())

    @torch.no_grad()
    def evaluate(self, loader) -> float:
        modes = {m: m.training for m in self.model.modules()}
        self.model.eval()
        total, seen = 0.0, 0
        for x, y in loader:
            total += self.loss_fn(self.model(x), y).item() * len(y)
            seen += len(y)
        for m, t in modes.items(): m.training = t
        return total / seen

    def state_dict(self) -> dict:
        return {
            "model": _clone(self.model.state_dict()),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else copy.deepcopy(self.scheduler.state_dict()),
            "history": list(self.history),
            "best": None if self.best is None else _clone(self.best),
            "best_loss": self.best_loss,
            "rng": torch.get_rng_state(),
        }

    def load_state_dict(self, state) -> None:
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(copy.deepcopy(state["opt"]))
        if self.scheduler is not None:
            self.scheduler.load_state_dict(copy.deepcopy(state["scheduler"]))
        self.history = list(state["history"])
        self.best = None if state["best"] is None else _clone(state["best"])
        self.best_loss = state["best_loss"]
        torch.set_rng_state(state["rng"])
