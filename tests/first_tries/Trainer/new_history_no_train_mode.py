# mistakes: history-restarts, missing-train-mode, training-loss-of-batches
# lines: 19, 22, 34
# hidden:
import copy
import torch
import torch.nn.utils as U


class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model = model
        self.opt = opt
        self.loss_fn = loss_fn
        self.scheduler = scheduler
        self.accum_steps = accum_steps
        self.max_norm = max_norm

    def fit(self, train_loader, val_loader, epochs) -> None:
        self.history = []
        self.best = None
        best_val = float("inf")
        for ep in range(epochs):

            losses = []
            group = []
            for j, batch in enumerate(train_loader):
                group.append(batch)
                if len(group) < self.accum_steps and j < len(train_loader) - 1:
                    continue
                N = sum(b[0].shape[0] for b in group)
                self.opt.zero_grad()
                for x, y in group:
                    loss = self.loss_fn(self.model(x), y)
                    losses.append(loss.item())
                    (loss * x.shape[0] / N).backward()
                if self.max_norm is not None:
                    U.clip_grad_norm_(self.model.parameters(), self.max_norm)
                self.opt.step()
                if self.scheduler is not None:
                    self.scheduler.step()
                group = []

            train_loss = sum(losses) / len(losses)
            val_loss = self.evaluate(val_loader)
            self.history.append((train_loss, val_loss))
            if val_loss < best_val:
                best_val = val_loss
                self.best = copy.deepcopy(self.model.state_dict())

    def evaluate(self, loader) -> float:
        modes = [(m, m.training) for m in self.model.modules()]
        self.model.eval()
        tot, n = 0.0, 0
        with torch.no_grad():
            for x, y in loader:
                tot += self.loss_fn(self.model(x), y).item() * x.shape[0]
                n += x.shape[0]
        for m, t in modes:
            m.training = t
        return tot / n

    def state_dict(self) -> dict:
        s = {"model": self.model.state_dict(), "opt": self.opt.state_dict(),
             "history": self.history, "best": self.best, "rng": torch.get_rng_state()}
        if self.scheduler is not None:
            s["scheduler"] = self.scheduler.state_dict()
        return copy.deepcopy(s)

    def load_state_dict(self, state) -> None:
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"]
        self.best = state["best"]
        torch.set_rng_state(state["rng"])
