# mistakes: leftover-without-scheduler, best-not-copied, train-mode-after-evaluate
# lines: 53, 60, 71
# hidden:
import copy

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
        self.best_loss = None

    def _prepare_grads(self, n_samples):
        params = [p for group in self.opt.param_groups for p in group["params"] if p.grad is not None]
        for p in params:
            p.grad.div_(n_samples)
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(params, self.max_norm)

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            self.model.train()
            self.opt.zero_grad()
            loss_sum, seen = 0.0, 0
            in_window, window_samples = 0, 0
            for xb, yb in train_loader:
                n = len(xb)
                loss = self.loss_fn(self.model(xb), yb)
                (loss * n).backward()
                loss_sum += loss.item() * n
                del loss
                seen += n
                in_window += 1
                window_samples += n
                if in_window == self.accum_steps:
                    self._prepare_grads(window_samples)
                    self.opt.step()
                    if self.scheduler is not None:
                        self.scheduler.step()
                    self.opt.zero_grad()
                    in_window, window_samples = 0, 0
            # 짧은 마지막 구간
            if in_window > 0:
                self._prepare_grads(window_samples)
                self.opt.step()
                self.opt.zero_grad()

            val_loss = self.evaluate(val_loader)
            self.history.append((loss_sum / seen, val_loss))
            if self.best_loss is None or val_loss < self.best_loss:
                self.best_loss = val_loss
                self.best = dict(self.model.state_dict())

    def evaluate(self, loader) -> float:
        self.model.eval()
        total, count = 0.0, 0
        try:
            with torch.no_grad():
                for xb, yb in loader:
                    total += self.loss_fn(self.model(xb), yb).item() * len(xb)
                    count += len(xb)
        finally:
            self.model.train()
        return total / count

    def state_dict(self) -> dict:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "history": self.history,
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
