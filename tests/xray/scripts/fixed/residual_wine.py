"""Wine-like table: 4 cultivars, 16 measurements, residual MLP."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)


def table(per_class, centers):
    """Rows come cultivar by cultivar, as in the published file."""
    xs, ys = [], []
    for k, c in enumerate(centers):
        grower = torch.randint(0, len(c), (per_class,))
        xs.append(c[grower] + 1.2 * torch.randn(per_class, c.shape[1]))
        ys.append(torch.full((per_class,), k))
    return TensorDataset(torch.cat(xs), torch.cat(ys))


class ResMLP(nn.Module):
    def __init__(self, d, width, depth, classes):
        super().__init__()
        self.stem = nn.Linear(d, width)
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = F.relu(self.stem(x))
        for block in self.blocks:
            h = h + F.relu(block(h))
        return self.head(h)


centers = 1.1 * torch.randn(4, 5, 16)  # five growers per cultivar
train_ds, test_ds = table(200, centers), table(80, centers)
train_dl = DataLoader(train_ds, batch_size=40, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=80)

net = ResMLP(16, 32, 3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
print("trainable numbers:", sum(p.numel() for p in net.parameters()))

for epoch in range(15):
    net.train()
    tot = 0.0
    for x, y in train_dl:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        tot += loss.item() * len(y)
    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in test_dl:
            right += (net(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {tot / len(train_ds):.4f} test acc {right / len(test_ds):.4f}")
