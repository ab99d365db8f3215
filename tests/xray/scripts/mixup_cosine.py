import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = dict(epochs=6, bs=32, lr=0.1, alpha=0.4, classes=4)
rng = np.random.default_rng(0)
torch.manual_seed(0)
labels = torch.from_numpy(rng.integers(0, 4, 640))
images = torch.from_numpy(rng.normal(size=(640, 3, 8, 8)).astype("float32"))
images += labels[:, None, None, None] * 0.35


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU())
        self.head = nn.Linear(16 * 64, classes)

    def forward(self, x):
        out = self.head(self.stem(x).flatten(1))
        return F.softmax(out, dim=-1)


def mixup(x, y):
    lam = float(rng.beta(cfg["alpha"], cfg["alpha"]))
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


model = Net(cfg["classes"])
opt = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=cfg["epochs"])
for epoch in range(cfg["epochs"]):
    order = torch.randperm(len(images))
    for i in range(0, len(order), cfg["bs"]):
        sel = order[i:i + cfg["bs"]]
        x, ya, yb, lam = mixup(images[sel], labels[sel])
        out = model(x)
        loss = lam * F.cross_entropy(out, ya) + (1 - lam) * F.cross_entropy(out, yb)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
    print(f"epoch {epoch} loss {loss:.4f} lr {sched.get_last_lr()[0]:.4f}")
