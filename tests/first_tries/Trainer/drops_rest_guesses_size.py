# mistakes: drops-short-window, guesses-window-size
# lines: 34, 28
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

    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            self.model.train()
            loss_total, sample_total = 0.0, 0
            for i, (x, y) in enumerate(train_loader):
                if i % self.accum_steps == 0:
                    self.opt.zero_grad()

                    segment_size = len(x) * self.accum_steps
                loss = self.loss_fn(self.model(x), y)
                (loss * len(x) / segment_size).backward()
                loss_total += loss.item() * len(x)
                sample_total += len(x)

                if (i + 1) % self.accum_steps == 0:
                    if self.max_norm is not None:
                        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
                    self.opt.step()
                    if self.scheduler is not None:
                        self.scheduler.step()
            val = self.evaluate(val_loader)
            vals = [v for _, v in self.history]
            if len(vals) == 0 or val < min(vals):
                self.best = copy.deepcopy(self.model.state_dict())
            self.history.append((loss_total / sample_total, val))

    def evaluate(self, loader):
        modes = []
        for m in self.model.modules():
            modes.append(m.training)
        self.model.eval()
        loss_total, sample_total = 0.0, 0
        with torch.no_grad():
            for x, y in loader:
                loss_total += self.loss_fn(self.model(x), y).item() * len(x)
                sample_total += len(x)
        for m, mode in zip(self.model.modules(), modes):
            m.training = mode
        return loss_total / sample_total

    def state_dict(self):
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "history": self.history,
            "best": self.best,
            "random": torch.get_rng_state(),
        }
        if self.scheduler is not None:
            state["scheduler"] = self.scheduler.state_dict()
        return copy.deepcopy(state)

    def load_state_dict(self, state):
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        self.history = state["history"]
        self.best = state["best"]
        torch.set_rng_state(state["random"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
