# mistakes: mixes-given-gradients, train-mode-after-evaluate, forgets-lowest
# lines: 38, 67, 76
# hidden:
import copy
import math
from itertools import islice

import torch


class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model = model
        self.opt = opt
        self.loss_fn = loss_fn
        self.scheduler = scheduler
        self.accum_steps = accum_steps
        self.max_norm = max_norm
        self.history = []
        self.best = None
        self._lowest = math.inf

    def _windows(self, loader):
        it = iter(loader)
        while window := list(islice(it, self.accum_steps)):
            yield window

    def _update(self):
        if self.max_norm is not None:
            params = [p for g in self.opt.param_groups for p in g["params"]]
            torch.nn.utils.clip_grad_norm_(params, self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.opt.zero_grad()

    def _train_epoch(self, loader):
        self.model.train()
        loss_sum, seen = 0.0, 0
        for window in self._windows(loader):
            n_window = sum(len(yb) for _, yb in window)
            for xb, yb in window:
                loss = self.loss_fn(self.model(xb), yb)
                (loss * (len(yb) / n_window)).backward()
                loss_sum += loss.item() * len(yb)
            seen += n_window
            self._update()
        return loss_sum / seen

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            train_loss = self._train_epoch(train_loader)
            val_loss = self.evaluate(val_loader)
            self.history.append((train_loss, val_loss))
            if self.best is None or val_loss < self._lowest:
                self._lowest = val_loss
                self.best = copy.deepcopy(self.model.state_dict())

    def evaluate(self, loader) -> float:
        was_training = self.model.training
        self.model.eval()
        total, count = 0.0, 0
        with torch.no_grad():
            for xb, yb in loader:
                total += self.loss_fn(self.model(xb), yb).item() * len(yb)
                count += len(yb)
        self.model.train(was_training)
        return total / count

    def state_dict(self) -> dict:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "history": list(self.history),
            "best": self.best,
        }
        return copy.deepcopy(state)

    def load_state_dict(self, state) -> None:
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"]
        self.best = state["best"]
