# model soup: average the three best epochs by validation loss
import heapq
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
N_KEEP = 3


def spiral(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(3, (n,), generator=g)
    r = torch.rand(n, generator=g)
    a = r * 4 + y * 2.094 + 0.15 * torch.randn(n, generator=g)
    return TensorDataset(torch.stack([r * a.cos(), r * a.sin()], 1) * 2, y)


class Soup:
    def __init__(self, size):
        self.size = size
        self.pool = []

    def taste(self, val_loss, epoch, model):
        weights = {k: v.clone() for k, v in model.state_dict().items()}
        item = (-val_loss, epoch, weights)
        if len(self.pool) < self.size:
            heapq.heappush(self.pool, item)
        else:
            heapq.heappushpop(self.pool, item)

    def cook(self):
        stacks = [w for _, _, w in self.pool]
        return {k: torch.stack([s[k] for s in stacks]).mean(0) for k in stacks[0]}

    def epochs(self):
        return sorted(e for _, e, _ in self.pool)


def val_loss_of(model, loader):
    model.eval()
    total = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            total += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return total / n, hits / n


model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
train_dl = DataLoader(spiral(600, 1), batch_size=40, shuffle=True)
val_dl = DataLoader(spiral(300, 2), batch_size=100)
test_dl = DataLoader(spiral(300, 3), batch_size=100)
soup = Soup(N_KEEP)

for epoch in range(15):
    model.train()
    for x, y in train_dl:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    vl, va = val_loss_of(model, val_dl)
    soup.taste(vl, epoch, model)
    print(f"epoch {epoch:2d} val loss {vl:.4f} acc {va:.3f} pool {soup.epochs()}")

model.load_state_dict(soup.cook())
test_loss, test_acc = val_loss_of(model, test_dl)
print(f"soup of {soup.epochs()}: test loss {test_loss:.4f} acc {test_acc:.3f}")
