"""Two-part run with a complete checkpoint (model, Adam, plateau schedule, RNG) and early best-model copy."""
import io

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset


def get_data():
    g = torch.Generator().manual_seed(11)
    x = torch.randn(900, 10, generator=g)
    y = ((x[:, 0] * x[:, 1] + 0.7 * x[:, 2] + 0.3 * torch.randn(900, generator=g)) > 0).float()
    return (DataLoader(TensorDataset(x[:600], y[:600]), batch_size=40, shuffle=True),
            DataLoader(TensorDataset(x[600:], y[600:]), batch_size=128))


class Session:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 64), nn.ReLU(),
                                   nn.Linear(64, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.scheduler = ReduceLROnPlateau(self.optimizer, mode="min", factor=0.3, patience=1)
        self.epoch, self.best, self.best_state = 0, float("inf"), None

    def save(self):
        buf = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "opt": self.optimizer.state_dict(),
                    "sched": self.scheduler.state_dict(), "epoch": self.epoch, "best": self.best,
                    "best_state": self.best_state, "rng": torch.get_rng_state()}, buf)
        return buf.getvalue()

    @classmethod
    def load(cls, blob):
        self, ck = cls(), torch.load(io.BytesIO(blob), weights_only=True)
        self.model.load_state_dict(ck["model"])
        self.optimizer.load_state_dict(ck["opt"])
        self.scheduler.load_state_dict(ck["sched"])
        self.epoch, self.best, self.best_state = ck["epoch"], ck["best"], ck["best_state"]
        torch.set_rng_state(ck["rng"])
        return self

    def validate(self, loader):
        self.model.eval()
        loss = hits = 0
        with torch.no_grad():
            for x, y in loader:
                out = self.model(x).squeeze(1)
                loss += nn.functional.binary_cross_entropy_with_logits(out, y, reduction="sum").item()
                hits += ((out > 0) == (y > 0.5)).sum().item()
        return loss / len(loader.dataset), hits / len(loader.dataset)

    def run(self, loaders, until):
        train_loader, val_loader = loaders
        while self.epoch < until:
            self.model.train()
            for x, y in train_loader:
                self.optimizer.zero_grad()
                loss = nn.functional.binary_cross_entropy_with_logits(self.model(x).squeeze(1), y)
                loss.backward()
                self.optimizer.step()
            val, acc = self.validate(val_loader)
            self.scheduler.step(val)
            if val < self.best:
                self.best = val
                self.best_state = {k: v.clone() for k, v in self.model.state_dict().items()}
            self.epoch += 1
            print(f"epoch {self.epoch} val {val:.4f} acc {acc:.4f} lr {self.optimizer.param_groups[0]['lr']:.5f}")


torch.manual_seed(3)
loaders = get_data()
first = Session()
first.run(loaders, until=5)
blob = first.save()
del first
second = Session.load(blob)
print("resumed")
second.run(loaders, until=12)
second.model.load_state_dict(second.best_state)
print(f"best {second.best:.4f} restored {second.validate(loaders[1])[0]:.4f}")
