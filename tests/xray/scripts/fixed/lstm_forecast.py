import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def windows(series, size):
    x = series.unfold(0, size + 1, 1)
    return TensorDataset(x[:, :-1, None].contiguous(), x[:, -1:].contiguous())


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, num_layers=2, batch_first=True, dropout=0.1)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.fc(h[-1])


def train(model, loader, epochs=4, accum=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=epochs * (len(loader) // accum))
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        model.train()
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            (loss / accum).backward()
            if (i + 1) % accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.05)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        print(f"epoch {epoch} mse {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.4f}")


torch.manual_seed(0)
t = torch.arange(540).float()
series = torch.sin(t / 5) + 0.5 * torch.sin(t / 17)
train(Forecaster(), DataLoader(windows(series, 20), batch_size=16, shuffle=True, drop_last=True))
