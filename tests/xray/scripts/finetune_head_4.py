"""Pretrain a small network on task A, then fine-tune only a new head on task B."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Linear(20, 64), nn.ReLU(),
            nn.Linear(64, 32), nn.ReLU(),
        )
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def make_task(mapping, n, w):
    x = torch.randn(n, 20)
    code = (x @ w).gt(0).long()
    raw = code[:, 0] * 4 + code[:, 1] * 2 + code[:, 2]
    return TensorDataset(x, mapping[raw])


def fit(model, loader, optimizer, epochs, tag):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        seen, loss_sum = 0, 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            seen += y.size(0)
            loss_sum += loss.item() * y.size(0)
        print(f"[{tag}] epoch {epoch} loss {loss_sum / seen:.4f}")


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


w = torch.randn(20, 3)
task_a = torch.arange(8)
task_b = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])

pre_loader = DataLoader(make_task(task_a, 3000, w), batch_size=64, shuffle=True)
model = Net(8)
fit(model, pre_loader, torch.optim.Adam(model.parameters(), lr=3e-3), 8, "pretrain")

fine_train = DataLoader(make_task(task_b, 600, w), batch_size=32, shuffle=True)
fine_test = DataLoader(make_task(task_b, 1000, w), batch_size=250)

# freeze the backbone
for p in model.features.parameters():
    p.require_grad = False

before = copy.deepcopy(model.features.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
model.fc = nn.Linear(32, 4)
head_before = model.fc.weight.detach().clone()
fit(model, fine_train, optimizer, 10, "finetune")

drift = sum((model.features.state_dict()[k] - v).norm().item() for k, v in before.items())
moved = (model.fc.weight.detach() - head_before).norm().item()
print(f"test accuracy {accuracy(model, fine_test):.4f}")
print(f"backbone drift {drift:.4f}  head moved {moved:.4f}")
