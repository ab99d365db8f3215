"""Checkpoint with everything in it, then a second process that goes on where the first one stopped."""
import os
import random
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Experiment:
    def __init__(self, epochs=8, seed=0):
        torch.manual_seed(seed)
        random.seed(seed)
        rng = np.random.default_rng(2024)          # the data are the same in every run
        x = rng.normal(size=(800, 6)).astype(np.float32)
        y = (np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=800)).astype(np.float32)[:, None]
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        self.train_loader = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=30, shuffle=True)
        self.val = (x[600:], y[600:])
        self.model = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.loss_fn = nn.HuberLoss()
        self.optimizer = torch.optim.RAdam(self.model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.PolynomialLR(self.optimizer, total_iters=epochs, power=1.5)
        self.epoch, self.epochs = 0, epochs

    def save(self, path):
        torch.save({
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(), "epoch": self.epoch, "rng": torch.get_rng_state()}, path)

    def load(self, path):
        ckpt = torch.load(path, weights_only=False)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.scheduler.load_state_dict(ckpt["scheduler"])
        self.epoch = ckpt["epoch"]
        torch.set_rng_state(ckpt["rng"])

    def run(self, until):
        while self.epoch < until:
            self.model.train()
            total = 0.0
            for x, y in self.train_loader:
                self.optimizer.zero_grad()
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(x)
            lr = self.optimizer.param_groups[0]["lr"]
            self.scheduler.step()
            print(f"epoch {self.epoch} lr {lr:.5f} train {total / 600:.5f} val {self.validate():.5f}")
            self.epoch += 1

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            return self.loss_fn(self.model(self.val[0]), self.val[1]).item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "ckpt.pt")
        a = Experiment()
        a.run(until=4)
        a.save(path)
        print("--- 다시 시작 ---")
        b = Experiment(seed=1)
        b.load(path)
        b.run(until=b.epochs)
