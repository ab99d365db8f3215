"""Multi-label movie genres: noise augmentation, EMA weights for evaluation, early stopping."""
import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Hyper:
    max_epochs: int = 25
    patience: int = 4
    lr: float = 5e-3
    noise: float = 0.3
    ema_decay: float = 0.95
    batch_size: int = 40


def genres(n, seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(20, 6, generator=torch.Generator().manual_seed(50))
    x = torch.randn(n, 20, generator=g)
    y = (torch.tanh(x) @ w + 0.8 * torch.randn(n, 6, generator=g) > 1.0).float()
    return TensorDataset(x, y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 6))

    def forward(self, x):
        return self.net(x)


def evaluate(model, loader, criterion):
    model.eval()
    total, right, n = 0.0, 0, 0
    with torch.inference_mode():
        for x, y in loader:
            out = model(x)
            total += criterion(out, y).item() * len(y)
            right += ((out > 0) == y.bool()).float().mean(1).sum().item()
            n += len(y)
    return total / n, right / n


def main(hp=Hyper()):
    torch.manual_seed(0)
    train_loader = DataLoader(genres(600, 0), batch_size=hp.batch_size, shuffle=True)
    val_loader = DataLoader(genres(260, 1), batch_size=100)
    model = Net()
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(hp.ema_decay), use_buffers=True)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp.lr)
    best_loss, best_state, bad = float("inf"), None, 0
    for epoch in range(hp.max_epochs):
        model.train()
        for x, y in train_loader:
            x = x + hp.noise * torch.randn_like(x)      # augmentation, train only
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update_parameters(model)
        val_loss, val_acc = evaluate(ema, val_loader, criterion)
        if val_loss < best_loss - 1e-4:
            best_loss, bad = val_loss, 0
            best_state = copy.deepcopy(ema.module.state_dict())
        else:
            bad += 1
        print(f"epoch {epoch} val loss {val_loss:.4f} acc {val_acc:.4f}{' *' if bad == 0 else ''}")
        if bad >= hp.patience:
            print("early stop")
            break
    final = Net()
    final.load_state_dict(best_state)
    print(f"restored: val loss {evaluate(final, val_loader, criterion)[0]:.4f} (best {best_loss:.4f})")


if __name__ == "__main__":
    main()
