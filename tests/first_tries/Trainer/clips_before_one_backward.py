# mistakes: clip-before-backward, one-backward-a-window
# lines: 39, 35
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

    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            self.model.train()
            train_sum, train_n = 0.0, 0
            seg_loss, seg_n = 0.0, 0
            last = len(train_loader) - 1
            for i, (x, y) in enumerate(train_loader):
                b = x.size(0)
                loss = self.loss_fn(self.model(x), y)
                train_sum += loss.item() * b
                train_n += b
                # 구간의 손실을 모은다

                seg_loss = seg_loss + loss * b
                seg_n += b
                if i % self.accum_steps == self.accum_steps - 1 or i == last:
                    if self.max_norm is not None:
                        clip_grad_norm_(self.model.parameters(), self.max_norm)
                    self.opt.zero_grad(); (seg_loss / seg_n).backward()
                    self.opt.step()
                    if self.scheduler is not None:
                        self.scheduler.step()
                    seg_loss, seg_n = 0.0, 0
            val = self.evaluate(val_loader)
            self.history.append((train_sum / train_n, val))
            if val < self.best_val:
                self.best_val = val
                self.best = copy.deepcopy(self.model.state_dict())

    def evaluate(self, loader):
        was = {name: m.training for name, m in self.model.named_modules()}
        self.model.eval()
        total = n = 0
        with torch.no_grad():
            for x, y in loader:
                total += self.loss_fn(self.model(x), y).item() * x.size(0)
                n += x.size(0)
        for name, m in self.model.named_modules():
            m.training = was[name]
        return total / n

    def state_dict(self):
        return {
            "model": copy.deepcopy(self.model.state_dict()),
            "opt": copy.deepcopy(self.opt.state_dict()),
            "scheduler": None if self.scheduler is None else copy.deepcopy(self.scheduler.state_dict()),
            "history": self.history[:],
            "best": copy.deepcopy(self.best),
            "best_val": self.best_val,
            "rng": torch.get_rng_state(),
        }

    def load_state_dict(self, state):
        s = copy.deepcopy(state)
        self.model.load_state_dict(s["model"])
        self.opt.load_state_dict(s["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(s["scheduler"])
        self.history, self.best, self.best_val = s["history"], s["best"], s["best_val"]
        torch.set_rng_state(s["rng"])
