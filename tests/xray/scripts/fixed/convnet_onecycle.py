"""Small convnet on synthetic 12x12 textures, one-cycle policy, noise augmentation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 1
EPOCHS = 14
BATCH = 40
MAX_LR = 0.03


def textures(n, g):
    y = torch.randint(6, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    ang = (y * torch.pi / 6)[:, None, None]
    phase = torch.rand(n, 1, 1, generator=g) * 6.28
    img = torch.sin(1.3 * (xx * ang.cos() + yy * ang.sin()) + phase)
    img = img + 2.2 * torch.randn(n, 12, 12, generator=g)
    return img[:, None], y


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(1, 12), nn.MaxPool2d(2), conv(12, 24), conv(24, 24))
        self.fc = nn.Linear(24 * 36, 6)

    def forward(self, x):
        return self.fc(self.body(x).flatten(1))


def augment(x):
    x = x + 0.5 * torch.randn_like(x)
    shift = torch.randint(-2, 3, (2,)).tolist()
    return torch.roll(x, shift, (2, 3))


g = torch.Generator().manual_seed(0)
xtr, ytr = textures(400, g)
xva, yva = textures(600, g)

torch.manual_seed(SEED)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=MAX_LR, momentum=0.9, weight_decay=5e-4)
steps = EPOCHS * (len(xtr) // BATCH)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=MAX_LR, total_steps=steps, pct_start=0.3)

for epoch in range(EPOCHS):
    net.train()
    running = 0.0
    for idx in torch.randperm(len(xtr)).split(BATCH):
        out = net(augment(xtr[idx]))
        loss = F.cross_entropy(out, ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(idx)
        sched.step()

    net.eval()
    with torch.inference_mode():
        acc = (net(xva).argmax(1) == yva).float().mean().item()
    print(f"epoch {epoch} lr {sched.get_last_lr()[0]:.4f} loss {running / len(xtr):.4f} val acc {acc:.4f}")
