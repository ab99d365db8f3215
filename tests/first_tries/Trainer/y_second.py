# mistakes: mean-of-means, train-mode-after-evaluate, best-not-copied
# lines: 24, 64, 55
# hidden:
import copy

import torch
from torch import nn


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
        self.best_val = float("inf")

    def _backward(self, x, y, k):
        loss = self.loss_fn(self.model(x), y)
        (loss / k).backward()
        return loss.item()

    def _update(self):
        if self.max_norm is not None:
            params = [p for group in self.opt.param_groups for p in group["params"]]
            nn.utils.clip_grad_norm_(params, self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.opt.zero_grad()

    def fit(self, train_loader, val_loader, epochs) -> None:
        n_batches = len(train_loader)
        for _ in range(epochs):
            self.model.train()
            self.opt.zero_grad()
            total, count = 0.0, 0
            for i, (x, y) in enumerate(train_loader):
                # 이번 구간에 든 마이크로 배치의 수 (마지막 구간은 짧을 수 있다)
                start = i - i % self.accum_steps
                k = min(self.accum_steps, n_batches - start)
                total += self._backward(x, y, k) * len(y)
                count += len(y)
                if (i + 1) % self.accum_steps == 0 or i + 1 == n_batches:
                    self._update()

            val = self.evaluate(val_loader)
            self.history.append((total / count, val))
            if self.best is None or val < self.best_val:
                self.best_val = val
                self.best = self.model.state_dict()

    def evaluate(self, loader) -> float:
        self.model.eval()
        total, count = 0.0, 0
        with torch.no_grad():
            for x, y in loader:
                total += self.loss_fn(self.model(x), y).item() * len(y)
                count += len(y)
        self.model.train()
        return total / count

    def state_dict(self) -> dict:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "history": self.history,
            "best": self.best,
            "best_val": self.best_val,
            "rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
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
        self.best_val = state["best_val"]
        torch.set_rng_state(state["rng"])
        if state["cuda_rng"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda_rng"])
