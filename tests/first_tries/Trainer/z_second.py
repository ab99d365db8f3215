# mistakes: clips-each-micro-batch, best-takes-ties, train-mode-after-evaluate
# lines: 35, 57, 62
# hidden:
import copy
import itertools

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
        self.best_loss = float("inf")

    def _params(self):
        return [p for group in self.opt.param_groups for p in group["params"]]

    def _update_once(self, window):
        """한 구간을 학습하고 (손실의 합, 샘플 수)를 돌려준다."""
        n_total = sum(len(yb) for _, yb in window)
        loss_sum = 0.0
        self.opt.zero_grad()
        for xb, yb in window:
            loss = self.loss_fn(self.model(xb), yb)
            (loss * (len(yb) / n_total)).backward()
            loss_sum += loss.item() * len(yb)
            if self.max_norm is not None:
                torch.nn.utils.clip_grad_norm_(self._params(), self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.opt.zero_grad()
        return loss_sum, n_total

    def _one_epoch(self, loader):
        self.model.train()
        loss_sum, seen = 0.0, 0
        it = iter(loader)
        while window := list(itertools.islice(it, self.accum_steps)):
            s, n = self._update_once(window)
            loss_sum += s
            seen += n
        return loss_sum / seen

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            train_loss = self._one_epoch(train_loader)
            val_loss = self.evaluate(val_loader)
            self.history.append((train_loss, val_loss))
            if self.best is None or val_loss <= self.best_loss:
                self.best_loss = val_loss
                self.best = copy.deepcopy(self.model.state_dict())

    def evaluate(self, loader) -> float:
        was_training = self.model.training
        self.model.eval()
        total, count = 0.0, 0
        try:
            with torch.no_grad():
                for xb, yb in loader:
                    total += self.loss_fn(self.model(xb), yb).item() * len(yb)
                    count += len(yb)
        finally:
            self.model.train(was_training)
        return total / count

    def state_dict(self) -> dict:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "history": list(self.history),
            "best": self.best,
            "best_loss": self.best_loss,
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
        self.best_loss = state["best_loss"]
