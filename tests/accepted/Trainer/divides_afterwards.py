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
        self.best_loss = float("inf")

    def _params(self):
        return [p for group in self.opt.param_groups for p in group["params"] if p.grad is not None]

    def _update(self, n):
        for p in self._params():
            p.grad /= n
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self._params(), self.max_norm)
        self.opt.step()
        self.opt.zero_grad()
        if self.scheduler:
            self.scheduler.step()

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            self.opt.zero_grad()
            loss_sum = 0.0
            seen = waiting = 0
            for i, (xb, yb) in enumerate(train_loader, 1):
                loss = self.loss_fn(self.model(xb), yb) * len(yb)
                loss.backward()
                loss_sum += float(loss)
                seen += len(yb)
                waiting += len(yb)
                if i % self.accum_steps == 0 or i == len(train_loader):
                    self._update(waiting)
                    waiting = 0
            val = self.evaluate(val_loader)
            if val < self.best_loss:
                self.best_loss = val
                self.best = {k: v.clone() for k, v in self.model.state_dict().items()}
            self.history += [(loss_sum / seen, val)]

    @torch.no_grad()
    def evaluate(self, loader):
        before = [m.training for m in self.model.modules()]
        self.model.eval()
        try:
            losses = [(float(self.loss_fn(self.model(x), y)), len(y)) for x, y in loader]
        finally:
            for m, was in zip(self.model.modules(), before):
                m.training = was
        return sum(l * n for l, n in losses) / sum(n for _, n in losses)

    def state_dict(self):
        import copy

        return copy.deepcopy(
            {
                "m": self.model.state_dict(),
                "o": self.opt.state_dict(),
                "s": self.scheduler.state_dict() if self.scheduler else None,
                "h": self.history,
                "b": (self.best_loss, self.best),
            }
        )

    def load_state_dict(self, state):
        import copy

        self.model.load_state_dict(state["m"])
        self.opt.load_state_dict(copy.deepcopy(state["o"]))
        if self.scheduler:
            self.scheduler.load_state_dict(state["s"])
        self.history = list(state["h"])
        self.best_loss, self.best = state["b"]
