# mistakes: train-mode-after-evaluate, forgets-lowest, loads-without-copy
# lines: 68, 76, 88
# hidden:
import copy

import torch
from torch.nn.utils import clip_grad_norm_


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

    def _update(self, group):
        """구간 하나로 한 번 업데이트하고 (손실의 합, 샘플 수)를 돌려준다."""
        size = sum(len(x) for x, _ in group)
        loss_sum = 0.0
        self.opt.zero_grad()
        for x, y in group:
            loss = self.loss_fn(self.model(x), y)
            (loss * (len(x) / size)).backward()
            loss_sum += loss.item() * len(x)
        if self.max_norm is not None:
            params = [p for g in self.opt.param_groups for p in g["params"]]
            clip_grad_norm_(params, self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return loss_sum, size

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            self.model.train()
            done = []
            group = []
            for pair in train_loader:
                group.append(pair)
                if len(group) == self.accum_steps:
                    done.append(self._update(group))
                    group = []
            if group:
                done.append(self._update(group))
            train_loss = sum(s for s, _ in done) / sum(n for _, n in done)

            val_loss = self.evaluate(val_loader)
            self.history.append((train_loss, val_loss))
            if self.best is None or val_loss < self.best_val:
                self.best_val = val_loss
                self.best = copy.deepcopy(self.model.state_dict())

    @torch.no_grad()
    def evaluate(self, loader) -> float:
        self.model.eval()
        acc, n = 0.0, 0
        try:
            for x, y in loader:
                acc += self.loss_fn(self.model(x), y).item() * len(x)
                n += len(x)
        finally:
            self.model.train()
        return acc / n

    def state_dict(self) -> dict:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "history": self.history,
            "best": self.best,
            "rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        return copy.deepcopy(state)

    def load_state_dict(self, state) -> None:
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(copy.deepcopy(state["opt"]))
        if self.scheduler is not None:
            self.scheduler.load_state_dict(copy.deepcopy(state["scheduler"]))
        self.history = state["history"]
        self.best = copy.deepcopy(state["best"])
        torch.set_rng_state(state["rng"])
        if state["cuda_rng"]:
            torch.cuda.set_rng_state_all(state["cuda_rng"])
