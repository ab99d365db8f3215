# mistakes: best-not-copied, train-mode-after-evaluate, state-without-scheduler
# lines: 63, 75, 82
# hidden:
import copy

import torch
from torch import nn


def _sections(loader, size):
    """로더를 size개씩 묶어 낸다 (마지막은 짧을 수 있다)"""
    section = []
    for batch in loader:
        section.append(batch)
        if len(section) == size:
            yield section
            section = []
    if section:
        yield section


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

    def _update(self):
        if self.max_norm is not None:
            params = [p for g in self.opt.param_groups for p in g["params"]]
            nn.utils.clip_grad_norm_(params, self.max_norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.opt.zero_grad()

    def _train_section(self, section):
        samples = sum(len(yb) for _, yb in section)
        loss_sum = 0.0
        for xb, yb in section:
            loss = self.loss_fn(self.model(xb), yb)
            (loss * len(yb) / samples).backward()
            loss_sum += loss.item() * len(yb)
        self._update()
        return loss_sum, samples

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            self.model.train()
            self.opt.zero_grad()
            loss_sum, samples = 0.0, 0
            for section in _sections(train_loader, self.accum_steps):
                section_loss, section_samples = self._train_section(section)
                loss_sum += section_loss
                samples += section_samples
            val_loss = self.evaluate(val_loader)
            if all(val_loss < old for _, old in self.history):
                self.best = self.model.state_dict()
            self.history.append((loss_sum / samples, val_loss))

    def evaluate(self, loader) -> float:
        self.model.eval()
        loss_sum, samples = 0.0, 0
        try:
            with torch.no_grad():
                for xb, yb in loader:
                    loss_sum += self.loss_fn(self.model(xb), yb).item() * len(yb)
                    samples += len(yb)
        finally:
            self.model.train()
        return loss_sum / samples

    def state_dict(self) -> dict:
        return copy.deepcopy(
            {
                "model": self.model.state_dict(),
                "opt": self.opt.state_dict(),
                "history": self.history,
                "best": self.best,
            }
        )

    def load_state_dict(self, state) -> None:
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        self.history = state["history"]
        self.best = state["best"]
