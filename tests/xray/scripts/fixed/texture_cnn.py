"""Texture CNN with BatchNorm; keeps the best checkpoint in memory."""
import copy
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CFG = {"lr": 3e-3, "batch": 32, "epochs": 5, "width": 6, "seed": 9}


def textures(n):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(12).float()
    freq = torch.tensor([0.5, 0.9, 1.4])[y]
    phase = 6.28 * torch.rand(n, 1)
    rows = torch.sin(freq[:, None] * t + phase)
    img = rows[:, None, :, None].expand(-1, 1, 12, 12) * (0.5 + torch.rand(n, 1, 1, 1))
    return img + torch.rand(n, 1, 1, 1) + 0.7 * torch.randn(n, 1, 12, 12), y


class Net(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(1, w, 5), nn.BatchNorm2d(w)
        self.c2, self.b2 = nn.Conv2d(w, 2 * w, 3, stride=2), nn.BatchNorm2d(2 * w)
        self.fc = nn.Linear(2 * w, 3)

    def forward(self, x):
        x = F.relu(self.b1(self.c1(x)))
        x = F.relu(self.b2(self.c2(x)))
        return self.fc(x.mean((2, 3)))


def loader_from(cfg, ds, shuffle):
    return DataLoader(ds, batch_size=cfg["batch"], shuffle=shuffle)


def improved(new, best, mode="max"):
    if best is None:
        return True
    return new > best if mode == "max" else new < best


def val_loss(net, loader):
    net.eval()
    s = n = 0
    with torch.no_grad():
        for x, y in loader:
            s += F.cross_entropy(net(x), y, reduction="sum").item()
            n += len(y)
    return s / n


torch.manual_seed(CFG["seed"])
train_loader = loader_from(CFG, TensorDataset(*textures(384)), True)
val_loader = DataLoader(TensorDataset(*textures(192)), batch_size=64)
net = Net(CFG["width"])
opt = torch.optim.Adam(net.parameters(), lr=CFG["lr"])

best, best_state, log = None, None, []
for epoch in range(CFG["epochs"]):
    net.train()
    tot = 0.0
    for x, y in train_loader:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        tot += loss.item() * len(y)
    v = val_loss(net, val_loader)
    log.append(v)
    if improved(v, best, mode="min"):
        best, best_state = v, copy.deepcopy(net.state_dict())
    print(f"epoch {epoch} train {tot / len(train_loader.dataset):.4f} val {v:.4f}")

net.load_state_dict(best_state)
print(f"kept checkpoint: val {val_loss(net, val_loader):.4f} (lowest seen {min(log):.4f}, highest {max(log):.4f})")
