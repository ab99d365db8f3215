# mistakes: best-not-copied, train-mode-after-evaluate, no-clip
# lines: 66, 79, 53
# hidden:
import copy

import torch


class Trainer:
    """모델 하나를 학습하고, 평가하고, 멈춘 곳에서 이어 갑니다."""

    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model = model
        self.opt = opt
        self.loss_fn = loss_fn
        self.scheduler = scheduler
        self.accum_steps = accum_steps
        self.max_norm = max_norm
        self.history = []
        self.best = None

    def _opt_params(self):
        return [p for group in self.opt.param_groups for p in group["params"]]

    def _divide_grads(self, number_of_samples):
        for p in self._opt_params():
            if p.grad is not None:
                p.grad.div_(number_of_samples)

    def _train_epoch(self, loader):
        self.model.train()
        self.opt.zero_grad()
        loss_sum, sample_count = 0.0, 0
        in_section, section_samples = 0, 0
        for xb, yb in loader:
            loss = self.loss_fn(self.model(xb), yb)
            (loss * len(xb)).backward()
            loss_sum += loss.item() * len(xb)
            sample_count += len(xb)
            in_section += 1
            section_samples += len(xb)
            if in_section == self.accum_steps:
                self._divide_grads(section_samples)
                if self.max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(self._opt_params(), self.max_norm)
                self.opt.step()
                if self.scheduler is not None:
                    self.scheduler.step()
                self.opt.zero_grad()
                in_section, section_samples = 0, 0
        # 남은 짧은 구간
        if in_section > 0:
            self._divide_grads(section_samples)
            self.opt.step()
            if self.scheduler is not None:
                self.scheduler.step()
            self.opt.zero_grad()
        return loss_sum / sample_count

    def fit(self, train_loader, val_loader, epochs) -> None:
        for _ in range(epochs):
            train_loss = self._train_epoch(train_loader)
            val_loss = self.evaluate(val_loader)
            earlier = [v for _, v in self.history]
            if not earlier or val_loss < min(earlier):
                self.best = self.model.state_dict()
            self.history.append((train_loss, val_loss))

    def evaluate(self, loader) -> float:
        was_training = self.model.training
        self.model.eval()
        loss_sum, count = 0.0, 0
        try:
            with torch.no_grad():
                for xb, yb in loader:
                    loss_sum += self.loss_fn(self.model(xb), yb).item() * len(xb)
                    count += len(xb)
        finally:
            self.model.train(was_training)
        return loss_sum / count

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
        self.history = list(state["history"])
        self.best = state["best"]
