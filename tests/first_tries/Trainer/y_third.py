# mistakes: divides-after-clip, training-loss-of-batches, forgets-lowest
# lines: 30, 50, 76
# hidden:
from copy import deepcopy

import torch
from torch.nn.utils import clip_grad_norm_


class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model, self.opt, self.loss_fn = model, opt, loss_fn
        self.scheduler, self.accum_steps, self.max_norm = scheduler, accum_steps, max_norm
        self.history, self.best = [], None
        self._low = float("inf")

    def _micro(self, x, y):
        loss = self.loss_fn(self.model(x), y)
        (loss * len(y)).backward()  # 합으로 모으고 나중에 나눈다
        return loss.item()

    def _window(self, chunk):
        self.opt.zero_grad()
        losses, seen = [], 0
        for x, y in chunk:
            losses.append(self._micro(x, y))
            seen += len(y)
        params = [p for g in self.opt.param_groups for p in g["params"] if p.grad is not None]
        if self.max_norm is not None:
            clip_grad_norm_(params, self.max_norm)
        for p in params:
            p.grad.div_(seen)
        self.opt.step()
        if self.scheduler:
            self.scheduler.step()
        return losses

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            self.model.train()
            losses, chunk = [], []
            for pair in train_loader:
                chunk.append(pair)
                if len(chunk) == self.accum_steps:
                    losses += self._window(chunk)
                    chunk = []
            if chunk:
                losses += self._window(chunk)
            val = self.evaluate(val_loader)
            self.history.append((sum(losses) / len(losses), val))
            if self.best is None or val < self._low:
                self._low = val
                self.best = deepcopy(self.model.state_dict())

    def evaluate(self, loader) -> float:
        modes = [(m, m.training) for m in self.model.modules()]
        self.model.eval()
        acc, n = 0.0, 0
        try:
            with torch.no_grad():
                for x, y in loader:
                    acc += float(self.loss_fn(self.model(x), y)) * len(y)
                    n += len(y)
        finally:
            for m, flag in modes:
                m.training = flag
        return acc / n

    def state_dict(self) -> dict:
        return deepcopy(
            {
                "model": self.model.state_dict(),
                "opt": self.opt.state_dict(),
                "sched": self.scheduler.state_dict() if self.scheduler else {},
                "history": self.history,
                "best": self.best,
                "rng": torch.get_rng_state(),
                "gpu": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            }
        )

    def load_state_dict(self, state) -> None:
        s = deepcopy(state)
        self.model.load_state_dict(s["model"])
        self.opt.load_state_dict(s["opt"])
        if self.scheduler:
            self.scheduler.load_state_dict(s["sched"])
        self.history = s["history"]
        self.best = s["best"]
        torch.set_rng_state(s["rng"])
        if s["gpu"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(s["gpu"])
