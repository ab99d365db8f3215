"""fp16 autocast on the CPU with a scaler, accumulation of two, unscale before clip, master weights in fp32."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(56)
ACC = 2


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU())
        self.o = nn.Linear(16, 4)

    def forward(self, x):
        return self.o(self.f(x).mean((2, 3)))


def corners(n):
    y = torch.randint(0, 4, (n,))
    x = 0.6 * torch.randn(n, 1, 10, 10)
    for k, (r, c) in enumerate([(0, 0), (0, 5), (5, 0), (5, 5)]):
        stripes = torch.ones(5, 5)
        stripes[(k % 2)::2] = -1
        stripes = stripes if k < 2 else stripes.T
        x[y == k, 0, r:r + 5, c:c + 5] += 1.2 * stripes
    return TensorDataset(x, y)


train = DataLoader(corners(640), batch_size=20, shuffle=True)  # 32 batches, 16 updates
test = DataLoader(corners(200), batch_size=50)
net = Conv()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10, growth_interval=30)

for epoch in range(4):
    net.train()
    total = 0.0
    opt.zero_grad()
    for i, (x, y) in enumerate(train, 1):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(net(x).float(), y)
        scaler.scale(loss / ACC).backward()
        total += loss.item() * len(y)
        if i % ACC == 0:
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
    net.eval()
    good = 0
    with torch.no_grad():
        for x, y in test:
            good += (net(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {total / 640:.4f} acc {good / 200:.4f} scale {scaler.get_scale():.0f}")
