import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, n, seed):
        self.n, self.seed, self.epoch = n, seed, 0

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        self.epoch += 1
        for _ in range(self.n):
            x = torch.randn(15, generator=g)
            yield x, (x[:5].sum() > x[5:10].sum()).float()


class Runner:
    def __init__(self, accum):
        self.accum = accum
        self.model = nn.Sequential(nn.Linear(15, 60), nn.ELU(), nn.Linear(60, 1), nn.Flatten(0))
        self.optim = torch.optim.SGD(self.model.parameters(), lr=0.3)
        self.lossf = nn.BCEWithLogitsLoss()

    def update(self):
        self.optim.step()
        self.optim.zero_grad()

    def epoch(self, loader):
        self.optim.zero_grad()
        pending, shown = 0, 0.0
        for x, y in loader:
            loss = self.lossf(self.model(x), y)
            (loss / self.accum).backward()
            shown += loss.item()
            pending += 1
            if pending == self.accum:
                self.update()
                pending = 0
        if pending:
            self.update()
        return shown


torch.manual_seed(0)
runner = Runner(accum=5)
loader = DataLoader(Stream(360, 5), batch_size=20)
for e in range(5):
    print(f"epoch {e} loss {runner.epoch(loader) / 18:.4f}")
