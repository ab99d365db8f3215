"""Temporal CNN forecasting a multivariate series; early stopping on validation loss."""
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WINDOW, CHANNELS = 24, 5
torch.manual_seed(13)


def series(length):
    a, b = 0.4 * torch.randn(CHANNELS, CHANNELS), 0.8 * torch.randn(CHANNELS, CHANNELS)
    s = torch.randn(length, CHANNELS)
    for t in range(3, length):
        s[t] = torch.tanh(s[t - 1] @ a + s[t - 3] @ b) + 0.3 * s[t]
    return s


def windows(s):
    x = s.unfold(0, WINDOW + 1, 1).transpose(1, 2)      # (N, WINDOW + 1, CHANNELS)
    return TensorDataset(x[:, :-1].contiguous(), x[:, -1, 0].contiguous())


class TCN(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(CHANNELS, width, 3), nn.ReLU(),
            nn.Conv1d(width, width, 3), nn.ReLU(),
        )
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        b = x.size(0)
        x = x.transpose(1, 2)
        h = self.conv(x)
        return self.out(h[:, :, -1]).squeeze(1)


def mse(model, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += ((model(x) - y) ** 2).sum().item()
    return total / len(loader.dataset)


def train(model, train_loader, val_loader, max_epochs=40, patience=8):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    best, best_state, best_epoch = float("inf"), None, -1
    for epoch in range(max_epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(y)
        val = mse(model, val_loader)
        if epoch % 5 == 0:
            print(f"epoch {epoch} train {running / len(train_loader.dataset):.4f} val {val:.4f}")
        if val < best:
            best, best_epoch = val, epoch
            best_state = {k: v.clone() for k, v in model.state_dict().items()}
        elif epoch - best_epoch >= patience:
            print(f"early stop at epoch {epoch}, best epoch {best_epoch}")
            break
    model.load_state_dict(best_state)
    return best


full = series(1100)
train_s, val_s, test_s = full[:450], full[450:750], full[750:]
train_loader = DataLoader(windows(train_s), batch_size=32, shuffle=True)
val_loader = DataLoader(windows(val_s), batch_size=128)
test_loader = DataLoader(windows(test_s), batch_size=128)

net = TCN()
best = train(net, train_loader, val_loader)
path = os.path.join(tempfile.mkdtemp(), "best.pt")
torch.save(net.state_dict(), path)

restored = TCN()
restored.load_state_dict(torch.load(path))
print(f"best val mse {best:.4f}, restored val mse {mse(restored, val_loader):.4f}, "
      f"test mse {mse(restored, test_loader):.4f}")
