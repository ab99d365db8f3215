import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(512, 10)
y = (x[:, 0].abs() > x[:, 1].abs()).long()
loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
test = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=112)
model = nn.Sequential(nn.Linear(10, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 2))
swa = AveragedModel(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2, T_mult=1)
for epoch in range(8):
    model.train()
    for i, (xb, yb) in enumerate(loader):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        sched.step(epoch + (i + 1) / len(loader))
    if epoch % 2 == 1:
        swa.update_parameters(model)
    model.eval()
    with torch.no_grad():
        acc = sum((model(a).argmax(1) == b).sum().item() for a, b in test) / 112
    print(epoch, f"{loss.item():.4f} acc {acc:.3f} lr {opt.param_groups[0]['lr']:.4f}")
update_bn(loader, swa)
swa.eval()
with torch.no_grad():
    print("swa acc", sum((swa(a).argmax(1) == b).sum().item() for a, b in test) / 112)
