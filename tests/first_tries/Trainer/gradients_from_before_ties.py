# mistakes: mixes-given-gradients, best-takes-ties, history-of-tensors
# lines: 41, 59, 56
# hidden:
import copy

import torch
import torch.nn as nn


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

    def update(self, n):
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad /= n
        if self.max_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.opt.step()
        self.opt.zero_grad()
        if self.scheduler is not None:
            self.scheduler.step()

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            epoch_sum = torch.tensor(0.0)
            epoch_n = 0
            seg_n = 0
            in_seg = 0
            for xb, yb in train_loader:
                out = self.model(xb)
                loss = self.loss_fn(out, yb) * xb.shape[0]
                loss.backward()
                epoch_sum = epoch_sum + loss.detach()
                epoch_n += xb.shape[0]
                seg_n += xb.shape[0]
                in_seg += 1
                if in_seg == self.accum_steps:
                    self.update(seg_n)
                    seg_n = 0
                    in_seg = 0
            if in_seg > 0:
                self.update(seg_n)

            val_loss = self.evaluate(val_loader)
            train_loss = epoch_sum / epoch_n
            self.history.append((train_loss, val_loss))

            if self.best_loss is None or val_loss <= self.best_loss:
                self.best_loss = val_loss
                self.best = copy.deepcopy(self.model.state_dict())

    def evaluate(self, loader):
        saved = [(m, m.training) for m in self.model.modules()]
        self.model.eval()
        s = 0.0
        n = 0
        with torch.no_grad():
            for xb, yb in loader:
                s += self.loss_fn(self.model(xb), yb).item() * xb.shape[0]
                n += xb.shape[0]
        for m, t in saved:
            m.training = t
        return s / n

    def state_dict(self):
        d = {}
        d["model"] = self.model.state_dict()
        d["opt"] = self.opt.state_dict()
        if self.scheduler is not None:
            d["scheduler"] = self.scheduler.state_dict()
        d["history"] = self.history
        d["best"] = self.best
        d["best_loss"] = self.best_loss
        d["rng"] = torch.get_rng_state()
        return copy.deepcopy(d)

    def load_state_dict(self, state):
        d = copy.deepcopy(state)
        self.model.load_state_dict(d["model"])
        self.opt.load_state_dict(d["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(d["scheduler"])
        self.history = d["history"]
        self.best = d["best"]
        self.best_loss = d["best_loss"]
        torch.set_rng_state(d["rng"])
