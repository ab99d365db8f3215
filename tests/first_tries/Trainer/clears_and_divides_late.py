# mistakes: zero-grad-every-micro-batch, divides-after-clip
# lines: 31, 41
# hidden:
from copy import deepcopy

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
        self.best_val = None

    def fit(self, train_loader, val_loader, epochs):
        for e in range(epochs):
            self.model.train()
            sum_loss = 0.0
            n_samples = 0
            n_seg = 0
            for i, data in enumerate(train_loader):
                x, y = data
                pred = self.model(x)
                self.opt.zero_grad()
                loss = self.loss_fn(pred, y)
                (loss * len(y)).backward()
                sum_loss += loss.item() * len(y)
                n_samples += len(y)
                n_seg += len(y)
                if (i + 1) % self.accum_steps == 0 or (i + 1) == len(train_loader):
                    if self.max_norm is not None:
                        clip_grad_norm_(self.model.parameters(), self.max_norm)
                    for p in self.model.parameters():
                        p.grad /= n_seg
                    self.opt.step()
                    if self.scheduler is not None:
                        self.scheduler.step()
                    n_seg = 0
            val_loss = self.evaluate(val_loader)
            self.history.append((sum_loss / n_samples, val_loss))
            if self.best_val is None or val_loss < self.best_val:
                self.best_val = val_loss
                self.best = deepcopy(self.model.state_dict())

    def evaluate(self, loader):
        train_flags = [m.training for m in self.model.modules()]
        self.model.eval()
        with torch.no_grad():
            sum_loss = 0.0
            n = 0
            for x, y in loader:
                sum_loss += self.loss_fn(self.model(x), y).item() * len(y)
                n += len(y)
        for m, f in zip(self.model.modules(), train_flags):
            m.training = f
        return sum_loss / n

    def state_dict(self):
        return deepcopy(dict(
            model=self.model.state_dict(), opt=self.opt.state_dict(),
            sched=None if self.scheduler is None else self.scheduler.state_dict(),
            history=self.history, best=self.best, best_val=self.best_val, rng=torch.get_rng_state()))

    def load_state_dict(self, state):
        state = deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["sched"])
        self.history, self.best, self.best_val = state["history"], state["best"], state["best_val"]
        torch.set_rng_state(state["rng"])
