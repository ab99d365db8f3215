# mistakes: steps-on-first, best-not-copied, train-mode-after-evaluate
# lines: 30, 45, 56
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
            self.opt.zero_grad()
            train_loss, seen, pending = 0.0, 0, 0
            for i, (x, y) in enumerate(train_loader):
                loss = self.loss_fn(self.model(x), y)
                (len(x) * loss).backward()
                train_loss += len(x) * loss.item()
                seen += len(x)
                pending += len(x)
                if i % self.accum_steps == 0:
                    self.step(pending)
                    pending = 0
            if pending > 0:
                self.step(pending)
            train_loss = train_loss / seen
            val_loss = self.evaluate(val_loader)

            better = True
            for _, old in self.history:
                if old <= val_loss:
                    better = False
            self.history.append((train_loss, val_loss))
            if better:

                self.best = copy.copy(self.model.state_dict())

    def evaluate(self, loader):
        was = self.model.training
        self.model.eval()
        loss_sum, seen = 0.0, 0
        with torch.no_grad():
            for x, y in loader:
                loss_sum += len(x) * self.loss_fn(self.model(x), y).item()
                seen += len(x)

        self.model.train(was)
        return loss_sum / seen

    def step(self, n):
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.div_(n)
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.opt.zero_grad()

    def state_dict(self):
        return copy.deepcopy({
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "history": self.history,
            "best": self.best,
            "rng": torch.get_rng_state(),
        })

    def load_state_dict(self, state):
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"]
        self.best = state["best"]
        torch.set_rng_state(state["rng"])
