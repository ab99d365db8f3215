# mistakes: state-not-copied, state-without-best, forgets-lowest
# lines: 70, 82, 82
# hidden:
import torch
from copy import deepcopy


class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model = model
        self.optimizer = opt
        self.criterion = loss_fn
        self.lr_scheduler = scheduler
        self.grad_accum = accum_steps
        self.clip = max_norm
        self.history = []
        self.best = None
        self.lowest = float("inf")

    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            train_loss = self.train_one_epoch(train_loader)
            val_loss = self.evaluate(val_loader)
            self.history.append((train_loss, val_loss))
            if val_loss < self.lowest:
                self.lowest = val_loss
                self.best = deepcopy(self.model.state_dict())

    def train_one_epoch(self, loader):
        self.model.train()
        batches = []
        loss_sum = 0.0
        seen = 0
        for batch in loader:
            batches.append(batch)
            if len(batches) == self.grad_accum:
                s, n = self.optimize(batches)
                loss_sum, seen = loss_sum + s, seen + n
                batches = []
        if batches:
            s, n = self.optimize(batches)
            loss_sum, seen = loss_sum + s, seen + n
        return loss_sum / seen

    def optimize(self, batches):
        n_total = sum(len(yb) for _, yb in batches)
        total = 0.0
        self.optimizer.zero_grad()
        for xb, yb in batches:
            loss = self.criterion(self.model(xb), yb)
            total += loss.item() * len(yb)
            (loss * (len(yb) / n_total)).backward()
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        if self.lr_scheduler is not None:
            self.lr_scheduler.step()
        self.optimizer.zero_grad()
        return total, n_total

    @torch.no_grad()
    def evaluate(self, loader):
        before = [m.training for m in self.model.modules()]
        self.model.eval()
        sums = [(self.criterion(self.model(x), y).item() * len(y), len(y)) for x, y in loader]
        [setattr(m, "training", b) for m, b in zip(self.model.modules(), before)]
        return sum(s for s, _ in sums) / sum(n for _, n in sums)

    def state_dict(self):
        return {
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
            "scheduler": self.lr_scheduler.state_dict() if self.lr_scheduler is not None else {},
            "history": self.history,
            "best": self.best, "lowest": self.lowest, "rng": torch.random.get_rng_state()}

    def load_state_dict(self, state):
        state = deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.lr_scheduler is not None:
            self.lr_scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"]
        torch.random.set_rng_state(state["rng"])
