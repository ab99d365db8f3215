import contextlib
import json

import torch


class Trainer:
    """Everything by hand: windows by slices, clipping by the formula, modes by a context manager."""

    def __init__(self, model, opt, loss_fn, **kwargs):
        self.scheduler = kwargs.pop("scheduler", None)
        self.accum_steps = kwargs.pop("accum_steps", 1)
        self.max_norm = kwargs.pop("max_norm", None)
        assert not kwargs
        self.model, self.opt, self.loss_fn = model, opt, loss_fn
        self.history, self.best = [], None

    def fit(self, train_loader, val_loader, epochs):
        while epochs > 0:
            epochs -= 1
            self.model.train()
            data = list(train_loader)
            count = sum(len(x) for x, _ in data)
            losses = []
            for start in range(0, len(data), self.accum_steps):
                window = data[start : start + self.accum_steps]
                losses += self.update(window, sum(len(x) for x, _ in window))
            validation = self.evaluate(val_loader)
            if min([v for _, v in self.history] + [torch.inf]) > validation:
                self.best = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
            self.history.append((sum(losses) / count, validation))

    def update(self, window, size):
        for p in self.model.parameters():
            p.grad = None
        losses = []
        for x, y in window:
            loss = self.loss_fn(self.model(x), y)
            loss.backward(gradient=torch.tensor(len(x) / size, dtype=loss.dtype, device=loss.device))
            losses.append(loss.item() * len(x))
        if self.max_norm is not None:
            grads = [p.grad for p in self.model.parameters() if p.grad is not None]
            norm = torch.cat([g.flatten() for g in grads]).norm()
            if norm > self.max_norm:
                for g in grads:
                    g.mul_(self.max_norm / norm)
        self.opt.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return losses

    @contextlib.contextmanager
    def evaluating(self):
        on = {m for m in self.model.modules() if m.training}
        self.model.eval()
        with torch.inference_mode():
            yield
        for m in self.model.modules():
            m.training = m in on

    def evaluate(self, loader):
        total = size = 0
        with self.evaluating():
            for x, y in loader:
                total += self.loss_fn(self.model(x), y).item() * len(x)
                size += len(x)
        return total / size

    def state_dict(self):
        def cloned(value):
            if isinstance(value, torch.Tensor):
                return value.clone()
            if isinstance(value, dict):
                return {key: cloned(item) for key, item in value.items()}
            if isinstance(value, list):
                return [cloned(item) for item in value]
            return value

        parts = [self.model, self.opt] + [self.scheduler] * (self.scheduler is not None)
        return {
            "parts": [cloned(part.state_dict()) for part in parts],
            "history": json.dumps(self.history),
            "best": cloned(self.best),
        }

    def load_state_dict(self, state):
        parts = [self.model, self.opt] + [self.scheduler] * (self.scheduler is not None)
        for part, saved in zip(parts, state["parts"], strict=True):
            part.load_state_dict(saved)
        for held in self.opt.state.values():
            for key, value in held.items():
                if torch.is_tensor(value):
                    held[key] = value.clone()
        self.history = [tuple(pair) for pair in json.loads(state["history"])]
        self.best = state["best"]
