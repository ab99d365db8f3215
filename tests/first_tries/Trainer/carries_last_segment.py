# mistakes: scheduler-before-step, last-batch-only-loss, carries-short-window
# lines: 38, 45, 34
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
        self.best_val_loss = float("inf")

    def fit(self, train_loader, val_loader, epochs) -> None:
        self.opt.zero_grad()
        samples = 0
        for epoch in range(epochs):
            self.model.train()
            for i, (inputs, targets) in enumerate(train_loader):
                logits = self.model(inputs)
                loss = self.loss_fn(logits, targets)
                batch = targets.size(0)
                (loss * batch).backward()
                samples += batch

                if (i + 1) % self.accum_steps == 0 or i == len(train_loader):
                    for p in self.model.parameters():
                        if p.grad is not None:
                            p.grad.mul_(1 / samples)
                    if self.scheduler: self.scheduler.step()
                    if self.max_norm is not None: torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
                    self.opt.step()
                    self.opt.zero_grad()
                    samples = 0

            val_loss = self.evaluate(val_loader)
            self.history.append((loss.item(), val_loss))
            if val_loss < self.best_val_loss:
                self.best_val_loss = val_loss
                self.best = copy.deepcopy(self.model.state_dict())

    @torch.no_grad()
    def evaluate(self, loader) -> float:
        was_training = {m: m.training for m in self.model.modules()}
        self.model.eval()
        loss_sum = 0.0
        count = 0
        for inputs, targets in loader:
            loss_sum += self.loss_fn(self.model(inputs), targets).item() * targets.size(0)
            count += targets.size(0)
        for m in was_training:
            m.training = was_training[m]
        return loss_sum / count

    def state_dict(self) -> dict:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scheduler": self.scheduler.state_dict() if self.scheduler else None,
            "history": self.history,
            "best": self.best,
            "best_val_loss": self.best_val_loss,
            "rng": torch.get_rng_state(),
        }
        return copy.deepcopy(state)

    def load_state_dict(self, state) -> None:
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scheduler:
            self.scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"]
        self.best = state["best"]
        self.best_val_loss = state["best_val_loss"]
        torch.set_rng_state(state["rng"])
