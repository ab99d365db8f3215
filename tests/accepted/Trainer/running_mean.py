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
        self.best_epoch = -1

    def params(self):
        for group in self.opt.param_groups:
            yield from group["params"]

    def micro_step(self, x, y, before):
        n = len(y)
        for p in self.params():
            if p.grad is not None:
                p.grad.mul_(before / (before + n))
        loss = self.loss_fn(self.model(x), y)
        loss.mul(n / (before + n)).backward()
        return loss.item()

    def update(self):
        if self.max_norm is not None:
            nn.utils.clip_grad_norm_(list(self.params()), self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        for p in self.params():
            p.grad = None

    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            for m in self.model.modules():
                m.training = True
            for p in self.params():
                p.grad = None
            mean, seen, in_segment, k = 0.0, 0, 0, 0
            for x, y in train_loader:
                loss = self.micro_step(x, y, in_segment)
                in_segment += len(y)
                seen += len(y)
                mean += (loss - mean) * len(y) / seen
                k += 1
                if k == self.accum_steps:
                    self.update()
                    in_segment = k = 0
            if k:
                self.update()
            val = self.evaluate(val_loader)
            self.history.append((mean, val))
            if self.best_epoch < 0 or val < self.history[self.best_epoch][1]:
                self.best_epoch = len(self.history) - 1
                self.best = {k: v.detach().clone() for k, v in self.model.state_dict().items()}

    def evaluate(self, loader):
        on = [m for m in self.model.modules() if m.training]
        self.model.eval()
        mean, seen = 0.0, 0
        grad = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        try:
            for x, y in loader:
                seen += len(y)
                mean += (self.loss_fn(self.model(x), y).item() - mean) * len(y) / seen
        finally:
            torch.set_grad_enabled(grad)
            for m in on:
                m.training = True
        return mean

    def state_dict(self):
        state = {
            "weights": self.model.state_dict(),
            "optimizer": self.opt.state_dict(),
            "train": [t for t, _ in self.history],
            "val": [v for _, v in self.history],
            "best": self.best,
            "best_epoch": self.best_epoch,
            "cpu_rng": torch.get_rng_state(),
        }
        if self.scheduler is not None:
            state["scheduler"] = self.scheduler.state_dict()
        if torch.cuda.is_available():
            state["cuda_rng"] = torch.cuda.get_rng_state_all()
        return copy.deepcopy(state)

    def load_state_dict(self, state):
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["weights"])
        self.opt.load_state_dict(state["optimizer"])
        self.history = list(zip(state["train"], state["val"]))
        self.best, self.best_epoch = state["best"], state["best_epoch"]
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["cpu_rng"])
        if "cuda_rng" in state:
            torch.cuda.set_rng_state_all(state["cuda_rng"])
