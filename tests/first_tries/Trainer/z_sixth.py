# mistakes: best-not-copied, divides-after-clip, forgets-lowest
# lines: 67, 31, 86
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
        self._lowest = None

    def _params(self):
        return [p for group in self.opt.param_groups for p in group["params"]]

    def _forget_gradients(self):
        self.opt.zero_grad()
        self.model.zero_grad()

    def _update(self, samples_in_window):
        """모인 그레이디언트(샘플의 합)로 한 번 업데이트"""
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self._params(), self.max_norm)
        for p in self._params():
            if p.grad is not None:
                p.grad.div_(samples_in_window)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self._forget_gradients()

    def _train_one_epoch(self, loader):
        self.model.train()
        self._forget_gradients()
        loss_sum, seen = 0.0, 0
        window_samples, window_batches = 0, 0
        for xb, yb in loader:
            n = len(yb)
            loss = self.loss_fn(self.model(xb), yb)
            (loss * n).backward()
            loss_sum += loss.item() * n
            seen += n
            window_samples += n
            window_batches += 1
            if window_batches == self.accum_steps:
                self._update(window_samples)
                window_samples, window_batches = 0, 0
        if window_batches > 0:
            self._update(window_samples)
        return loss_sum / seen

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            train_loss = self._train_one_epoch(train_loader)
            val_loss = self.evaluate(val_loader)
            self.history.append((train_loss, val_loss))
            if self._lowest is None or val_loss < self._lowest:
                self._lowest = val_loss
                self.best = self.model.state_dict().copy()

    def evaluate(self, loader) -> float:
        modes = [(m, m.training) for m in self.model.modules()]
        self.model.eval()
        try:
            with torch.no_grad():
                pairs = [(self.loss_fn(self.model(xb), yb).item(), len(yb)) for xb, yb in loader]
        finally:
            for m, mode in modes:
                m.training = mode
        return sum(value * n for value, n in pairs) / sum(n for _, n in pairs)

    def state_dict(self) -> dict:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "history": self.history,
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
