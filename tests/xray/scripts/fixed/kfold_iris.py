import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold
from torch.utils.data import DataLoader, Subset, TensorDataset

EPOCHS, FOLDS = 6, 3
torch.manual_seed(0)
raw = load_iris()
x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
x = torch.cat([x + 0.05 * torch.randn_like(x) for _ in range(3)])
y = torch.tensor(np.tile(raw.target, 3))
dataset = TensorDataset(x, y)


def accuracy(model, loader):
    model.eval()
    with torch.inference_mode():
        pairs = [(model(a).argmax(1) == b) for a, b in loader]
    return torch.cat(pairs).float().mean().item()


scores = []
for fold, (train_idx, val_idx) in enumerate(KFold(FOLDS, shuffle=True, random_state=0).split(np.arange(len(x)))):
    train_loader = DataLoader(Subset(dataset, train_idx), batch_size=30, shuffle=True)
    val_loader = DataLoader(Subset(dataset, val_idx), batch_size=75)
    model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    best, best_state = -1.0, None
    for epoch in range(EPOCHS):
        model.train()
        for a, b in train_loader:
            opt.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(a), b).backward()
            opt.step()
        acc = accuracy(model, val_loader)
        if acc > best:
            best = acc
            best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}
    model.load_state_dict(best_state)
    scores.append(accuracy(model, val_loader))
    print(f"fold {fold} best {best:.3f} kept {scores[-1]:.3f}")
print("mean", np.mean(scores))
