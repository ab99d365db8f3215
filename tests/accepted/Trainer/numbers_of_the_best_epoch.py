import copy

import torch


class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.__dict__.update(locals())
        del self.__dict__["self"]
        self.losses = {"train": [], "val": []}
        self.best = None

    @property
    def history(self):
        return list(zip(self.losses["train"], self.losses["val"]))

    def mean_loss(self, loader, learn=None):
        weighted, sizes = [], []
        for number, (xb, yb) in enumerate(loader):
            loss = self.loss_fn(self.model(xb), yb)
            if learn is not None:
                learn(number, loss, len(xb))
            weighted.append(loss.detach().item() * len(xb))
            sizes.append(len(xb))
        return sum(weighted) / sum(sizes)

    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            sizes = [len(xb) for xb, _ in train_loader]

            def learn(number, loss, size):
                first = number - number % self.accum_steps
                window = sizes[first : first + self.accum_steps]
                if number == first:
                    self.opt.zero_grad()
                (loss * size / sum(window)).backward()
                if number - first + 1 < len(window):
                    return
                if self.max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
                self.opt.step()
                self.opt.zero_grad()
                if self.scheduler is not None:
                    self.scheduler.step()

            self.model.train()
            self.losses["train"].append(self.mean_loss(train_loader, learn))
            self.losses["val"].append(self.evaluate(val_loader))
            val = self.losses["val"]
            if val.index(min(val)) == len(val) - 1:
                self.best = copy.deepcopy(self.model.state_dict())

    def evaluate(self, loader):
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        with torch.no_grad():
            loss = self.mean_loss(loader)
        for module, mode in modes:
            module.training = mode
        return loss

    def state_dict(self):
        state = {name: getattr(self, name).state_dict() for name in ("model", "opt")}
        if self.scheduler is not None:
            state["scheduler"] = self.scheduler.state_dict()
        return copy.deepcopy({**state, "losses": self.losses, "best": self.best})

    def load_state_dict(self, state):
        state = copy.deepcopy(state)
        self.losses, self.best = state.pop("losses"), state.pop("best")
        for name, saved in state.items():
            getattr(self, name).load_state_dict(saved)
