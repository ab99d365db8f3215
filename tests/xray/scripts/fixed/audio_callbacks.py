"""Keyword spotting on synthetic audio; numpy augmentation in two loader workers."""
import warnings
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.simplefilter("ignore")
SEED = 41


class Clips(Dataset):
    def __init__(self, n, shift):
        g = torch.Generator().manual_seed(n)
        self.y = torch.randint(0, 3, (n,), generator=g)
        t = torch.arange(64).float()
        tone = torch.tensor([0.15, 0.3, 0.55])[self.y]
        self.x = torch.sin(tone[:, None] * t) + 0.8 * torch.randn(n, 64, generator=g)
        self.shift = shift

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        k = np.random.randint(0, 64) if self.shift else 0
        return torch.roll(self.x[i], k), self.y[i], k


def seed_worker(worker_id):
    np.random.seed((SEED + torch.initial_seed()) % 2 ** 32)


class RateCallback:
    def __init__(self, opt, total):
        self.sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.01, total_iters=total)

    def batch_done(self):
        self.sched.step()


def main():
    torch.manual_seed(SEED)
    train = DataLoader(Clips(400, True), batch_size=40, shuffle=True, num_workers=2,
                       worker_init_fn=seed_worker, persistent_workers=True)
    test = DataLoader(Clips(200, False), batch_size=50)
    net = nn.Sequential(nn.Unflatten(1, (1, 64)), nn.Conv1d(1, 12, 9), nn.ReLU(),
                        nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(12, 3))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    ce = nn.CrossEntropyLoss()
    callback = RateCallback(opt, total=6 * len(train))
    for epoch in range(6):
        net.train()
        tot = 0.0
        for x, y, k in train:
            loss = ce(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            callback.batch_done()
            tot += loss.item() * len(y)
        net.eval()
        hit = 0
        with torch.no_grad():
            for x, y, _ in test:
                hit += (net(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {tot / 400:.4f} test acc {hit / 200:.4f}")


if __name__ == "__main__":
    main()
