# mistakes: forgets-lowest
# lines: 75
# hidden:
import copy

import torch
from torch import nn


class Trainer:
    """내 Trainer."""

    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model = model
        self.opt = opt
        self.loss_fn = loss_fn
        self.scheduler = scheduler
        self.accum_steps = accum_steps
        self.max_norm = max_norm
        self.history = []
        self.best = None
        self._best_val = float("inf")

    def _optimizer_step(self):
        if self.max_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)
        if self.scheduler is not None:
            self.scheduler.step()

    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            self.model.train()
            self.opt.zero_grad(set_to_none=True)
            running, n = 0.0, 0
            segment = []
            n_batches = len(train_loader)
            for step, (x, y) in enumerate(train_loader, 1):
                segment.append((x, y))
                if step % self.accum_steps != 0 and step != n_batches:
                    continue
                size = sum(x_.shape[0] for x_, _ in segment)
                for x_, y_ in segment:
                    loss = self.loss_fn(self.model(x_), y_)
                    weight = x_.shape[0] / size
                    (loss * weight).backward()
                    running += loss.item() * x_.shape[0]
                n += size
                self._optimizer_step()
                segment = []
            val = self.evaluate(val_loader)
            self.history.append((running / n, val))
            if val < self._best_val:
                self._best_val = val
                self.best = copy.deepcopy(self.model.state_dict())

    @torch.no_grad()
    def evaluate(self, loader):
        modes = {m: m.training for m in self.model.modules()}
        self.model.eval()
        total, n = 0.0, 0
        for x, y in loader:
            total += self.loss_fn(self.model(x), y).item() * x.shape[0]
            n += x.shape[0]
        for m, flag in modes.items():
            m.training = flag
        return total / n

    def state_dict(self):
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "history": self.history,
            "best": self.best,
        }
        if self.scheduler is not None: state["scheduler"] = self.scheduler.state_dict()
        return copy.deepcopy(state)

    def load_state_dict(self, state):
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"]
        self.best = state["best"]
