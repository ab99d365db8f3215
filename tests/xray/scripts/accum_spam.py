# spam filter, gradient accumulation with a short last window
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
VOCAB = 150
word_weight = torch.randn(VOCAB) * (torch.rand(VOCAB) < 0.3)
counts = torch.poisson(torch.full((1132, VOCAB), 0.12))
labels = ((counts @ word_weight + 0.4 * torch.randn(1132)) > 0).float()
train_ds = TensorDataset(counts[:832], labels[:832])
valid_ds = TensorDataset(counts[832:], labels[832:])


class SpamNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(VOCAB, 48), nn.ReLU(), nn.Dropout(0.2))
        self.score = nn.Linear(48, 1)

    def forward(self, x):
        return self.score(self.body(x)).squeeze(1)       # (N,)


def fit(model, epochs=8, batch_size=16, accum=6, max_lr=2e-2):
    loader = DataLoader(train_ds, batch_size=batch_size, shuffle=True)
    criterion = nn.BCEWithLogitsLoss()
    updates_per_epoch = math.ceil(len(loader) / accum)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=max_lr, epochs=epochs, steps_per_epoch=updates_per_epoch)
    left = len(loader) % accum or accum       # size of the last window
    for epoch in range(epochs):
        model.train()
        seen, total = 0, 0.0
        for i, (xb, yb) in enumerate(loader):
            in_last_window = i >= len(loader) - left
            loss = criterion(model(xb), yb)
            (loss / (left if in_last_window else accum)).backward()
            total += loss.item() * len(yb)
            seen += len(yb)
            if (i + 1) % accum == 0 or i + 1 == len(loader):
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        acc = validate(model)
        print(f"epoch {epoch} loss {total / seen:.4f} valid acc {acc:.4f} lr {optimizer.param_groups[0]['lr']:.5f}")


def validate(model):
    model.eval()
    hits = 0
    with torch.inference_mode():
        for xb, yb in DataLoader(valid_ds, batch_size=128):
            hits += ((model(xb) > 0).float() == yb).sum().item()
    return hits / len(valid_ds)


fit(SpamNet())
