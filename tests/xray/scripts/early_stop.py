import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    """Keep the best weights by validation accuracy and stop after `patience` epochs without a better one."""

    def __init__(self, patience):
        self.patience = patience
        self.best_acc, self.bad, self.weights = None, 0, None

    def __call__(self, acc, model):
        if self.best_acc is None or acc < self.best_acc:
            self.best_acc, self.bad = acc, 0
            self.weights = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def rings(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 2, generator=g) * 1.4
    return TensorDataset(x, (x.norm(dim=1) > 1.5).long())


def evaluate(model, loader):
    model.eval()
    correct, loss_sum, losses = 0, 0.0, []
    for x, y in loader:
        out = model(x)
        loss_sum += nn.functional.cross_entropy(out, y, reduction="sum").item()
        correct += (out.argmax(1) == y).sum().item()
    return loss_sum / len(loader.dataset), correct / len(loader.dataset)


def main():
    torch.manual_seed(5)
    train_loader = DataLoader(rings(384, 0), batch_size=32, shuffle=True)
    val_loader = DataLoader(rings(160, 1), batch_size=80)
    model = nn.Sequential(nn.Linear(2, 40), nn.ReLU(), nn.Dropout(0.2), nn.Linear(40, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    stopper = EarlyStopping(patience=8)
    for epoch in range(14):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        val_loss, val_acc = evaluate(model, val_loader)
        print(f"{epoch:2d} val loss {val_loss:.4f} acc {val_acc:.3f}")
        if stopper(val_acc, model):
            print("stopped early")
            break
    model.load_state_dict(stopper.weights)
    print("kept", evaluate(model, val_loader))


if __name__ == "__main__":
    main()
