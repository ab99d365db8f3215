"""Time series in order (no shuffle, on purpose), windows overlap, zero_grad after step, last best model deep-copied."""
import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset


class Walk(Dataset):
    def __init__(self, series, size):
        self.series, self.size = series, size

    def __len__(self):
        return len(self.series) - self.size

    def __getitem__(self, i):
        return self.series[i:i + self.size], self.series[i + self.size]


torch.manual_seed(0)
series = torch.sin(torch.arange(700) / 9.0) + 0.1 * torch.randn(700)
data = Walk(series, 16)
train_dl = DataLoader(Subset(data, range(540)), batch_size=36, shuffle=False)
valid_dl = DataLoader(Subset(data, range(560, len(data))), batch_size=62)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
opt = torch.optim.Adam(model.parameters(), lr=3e-3, amsgrad=True)
plan = torch.optim.lr_scheduler.SequentialLR(opt, [
    torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, total_iters=2),
    torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=6),
], milestones=[2])
best, keep = float("inf"), None
for epoch in range(8):
    model.train()
    for x, y in train_dl:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
    plan.step()
    model.eval()
    err = n = 0
    with torch.no_grad():
        for x, y in valid_dl:
            err += nn.functional.mse_loss(model(x), y).item() * len(y)
            n += len(y)
    if err / n < best:
        best, keep = err / n, copy.deepcopy(model.state_dict())
    print(epoch, f"{loss.item():.4f} valid {err / n:.4f}")
model.load_state_dict(keep)
