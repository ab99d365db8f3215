# 주택 가격 회귀: 작은 배치로 나눠서 그래디언트를 누적한다
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
ACCUM = 4
EPOCHS = 6
BATCH = 16

N, D = 1280, 12
X = torch.randn(N, D)
w_true = torch.randn(D, 1)
y = torch.tanh(X @ w_true) + 0.5 * X[:, :1] * X[:, 1:2] + 0.1 * torch.randn(N, 1)
Xtr, ytr, Xva, yva = X[:1024], y[:1024], X[1024:], y[1024:]

loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=BATCH, shuffle=True)
assert len(loader) % ACCUM == 0
updates = EPOCHS * len(loader) // ACCUM

model = nn.Sequential(nn.Linear(D, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.065, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=updates)

for epoch in range(EPOCHS):
    model.train()
    epoch_loss = 0.0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.mse_loss(model(xb), yb)
        epoch_loss += loss.item() * len(xb)
        loss.backward()
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
        sched.step()
    # 검증
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(Xva), yva).item()
    lr = opt.param_groups[0]["lr"]
    print(f"epoch {epoch} train {epoch_loss / len(Xtr):.4f} val {val:.4f} rmse {math.sqrt(val):.4f} lr {lr:.5f}")
