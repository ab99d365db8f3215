import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset


class Signals(Dataset):
    def __init__(self, n=480, train=True, seed=0):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 6.28, 32)
        self.y = torch.randint(3, (n,), generator=g)
        self.x = torch.sin(t * (self.y[:, None] + 1)) + 0.3 * torch.randn(n, 32, generator=g)
        self.train = train

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x, y = self.x[i], self.y[i]
        if self.train:
            x += 0.2 * torch.randn(32)
            x = torch.roll(x, int(torch.randint(-2, 3, ())))
        return x, y


def loaders(batch_size):
    idx = torch.randperm(480, generator=torch.Generator().manual_seed(3)).tolist()
    full = Signals()
    train = Subset(full, idx[:360])
    val = Subset(full, idx[360:])
    return DataLoader(train, batch_size, shuffle=True), DataLoader(val, 60)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 7, stride=2)
        self.head = nn.LazyLinear(3)

    def forward(self, x):
        return self.head(self.conv(x[:, None]).relu().flatten(1))


torch.manual_seed(0)
train_dl, val_dl = loaders(30)
net = Net()
net(torch.zeros(2, 32))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    net.train()
    run = 0.0
    for x, y in train_dl:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        run += loss.item() * len(y)
    net.eval()
    with torch.no_grad():
        hits = sum(int((net(x).argmax(-1) == y).sum()) for x, y in val_dl)
    print(f"epoch {epoch} train {run / 360:.4f} val acc {hits / 120:.3f}")
