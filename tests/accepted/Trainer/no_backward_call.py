import copy

import torch


class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self._model = model
        self._opt = opt
        self._loss_fn = loss_fn
        self._scheduler = scheduler
        self._accum_steps = accum_steps
        self._max_norm = max_norm
        self._log = {"train": [], "val": []}
        self._lowest = None
        self.best = None

    @property
    def history(self):
        return [(t, v) for t, v in zip(self._log["train"], self._log["val"])]

    def _trainable(self):
        return [p for g in self._opt.param_groups for p in g["params"] if p.requires_grad]

    def _segment_starts(self, count):
        return range(0, count, self._accum_steps)

    def _apply(self, sums, n):
        params = self._trainable()
        grads = [None if s is None else s / n for s in sums]
        if self._max_norm is not None:
            norm = torch.sqrt(sum((g * g).sum() for g in grads if g is not None))
            scale = torch.clamp(self._max_norm / (norm + 1e-6), max=1.0)
            grads = [None if g is None else g * scale for g in grads]
        for p, g in zip(params, grads):
            p.grad = g
        self._opt.step()
        self._opt.zero_grad()
        if self._scheduler is not None:
            self._scheduler.step()

    def fit(self, train_loader, val_loader, epochs):
        while epochs > 0:
            epochs -= 1
            self._model.train()
            total, seen = 0.0, 0
            source = iter(train_loader)
            for start in self._segment_starts(len(train_loader)):
                params = self._trainable()
                sums = [None] * len(params)
                n = 0
                for _ in range(min(self._accum_steps, len(train_loader) - start)):
                    x, y = next(source)
                    loss = self._loss_fn(self._model(x), y) * y.size(0)
                    for k, g in enumerate(torch.autograd.grad(loss, params, allow_unused=True)):
                        if g is not None:
                            sums[k] = g if sums[k] is None else sums[k] + g
                    total += float(loss.detach())
                    n += y.size(0)
                self._apply(sums, n)
                seen += n
            self._log["train"].append(total / seen)
            self._log["val"].append(self.evaluate(val_loader))
            if self._lowest is None or self._log["val"][-1] < self._lowest:
                self._lowest = self._log["val"][-1]
                self.best = copy.deepcopy(self._model.state_dict())

    def evaluate(self, loader):
        modes = {name: m.training for name, m in self._model.named_modules()}
        self._model.train(False)
        total = torch.zeros((), dtype=torch.float64)
        seen = 0
        with torch.no_grad():
            for x, y in loader:
                total += self._loss_fn(self._model(x), y).cpu() * y.size(0)
                seen += y.size(0)
        for name, mode in modes.items():
            self._model.get_submodule(name).training = mode
        return (total / seen).item()

    def state_dict(self):
        scheduler = {} if self._scheduler is None else self._scheduler.state_dict()
        return {
            "tensors": {k: v.clone() for k, v in self._model.state_dict().items()},
            "opt": copy.deepcopy(self._opt.state_dict()),
            "scheduler": copy.deepcopy(scheduler),
            "log": copy.deepcopy(self._log),
            "lowest": self._lowest,
            "best": copy.deepcopy(self.best),
            "rng": torch.get_rng_state(),
        }

    def load_state_dict(self, state):
        self._model.load_state_dict(state["tensors"])
        self._opt.load_state_dict(copy.deepcopy(state["opt"]))
        if self._scheduler is not None:
            self._scheduler.load_state_dict(copy.deepcopy(state["scheduler"]))
        self._log = copy.deepcopy(state["log"])
        self._lowest = state["lowest"]
        self.best = copy.deepcopy(state["best"])
        torch.set_rng_state(state["rng"].clone())
