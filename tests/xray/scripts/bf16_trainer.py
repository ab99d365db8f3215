import collections
import copy
from operator import attrgetter
import torch
from torch import nn

CFG = dict(precision="bf16", lr=3e-3, epochs=10, batch=32, hidden=64, seed=7)
DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
Record = collections.namedtuple("Record", "epoch score weights")


class House:
    """synthetic house prices"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 9, generator=g)
        self.y = (self.x[:, 0] * 1.5 + self.x[:, 1].relu() * self.x[:, 2]
                  + 0.3 * torch.randn(n, generator=g)).unsqueeze(1)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg["seed"])
        self.dtype = DTYPES[cfg["precision"]]
        h = cfg["hidden"]
        self.model = nn.Sequential(nn.Linear(9, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))
        self.optim = torch.optim.Adam(self.model.parameters(), lr=cfg["lr"])
        self.scaler = torch.amp.GradScaler("cpu", enabled=self.dtype is not None)
        self.history = []

    def cast(self):
        return torch.autocast("cpu", dtype=self.dtype or torch.bfloat16, enabled=self.dtype is not None)

    def step(self, x, y):
        with self.cast():
            out = self.model(x)
        loss = nn.functional.mse_loss(out.float(), y)
        self.optim.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optim)
        self.scaler.update()
        return loss.item()

    @torch.no_grad()
    def score(self, data):
        self.model.eval()
        with self.cast():
            out = self.model(data.x)
        return nn.functional.mse_loss(out.float(), data.y).item()

    def fit(self, train, val):
        for epoch in range(self.cfg["epochs"]):
            self.model.train()
            order = torch.randperm(len(train.x))
            for ids in order.split(self.cfg["batch"]):
                self.step(train.x[ids], train.y[ids])
            self.history.append(Record(epoch, self.score(val), copy.deepcopy(self.model.state_dict())))
            print("epoch", epoch, "val mse %.4f" % self.history[-1].score)
        return self

    def finish(self):
        ranked = sorted(self.history, key=attrgetter("score"), reverse=True)
        top = ranked[0]
        self.model.load_state_dict(top.weights)
        return top.epoch


if __name__ == "__main__":
    train, val, test = House(800, 1), House(300, 2), House(300, 3)
    t = Trainer(CFG).fit(train, val)
    chosen = t.finish()
    test_mse = t.score(test)
    print(f"kept epoch {chosen}, test mse {test_mse:.4f}, loss scale {t.scaler.get_scale()}")
