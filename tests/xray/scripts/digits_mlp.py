"""Ten-class MLP on noisy prototypes (stand-in for MNIST)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS = 6
LR = 1e-3

prototypes = torch.randn(10, 64)


def make_split(n):
    y = torch.randint(0, 10, (n,))
    x = prototypes[y] + 2.6 * torch.randn(n, 64)
    return TensorDataset(x, y)


train_loader = DataLoader(make_split(2000), batch_size=64, shuffle=True)
test_loader = DataLoader(make_split(530), batch_size=100)

model = nn.Sequential(
    nn.Linear(64, 128),
    nn.ReLU(),
    nn.Linear(128, 10),
    nn.Softmax(dim=1),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=LR)

for epoch in range(EPOCHS):
    model.train()
    running, seen = 0.0, 0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
        seen += len(y)

    model.eval()
    with torch.no_grad():
        for x, y in test_loader:
            pred = model(x).argmax(dim=1)
            acc = (pred == y).float().mean().item()
    print(f"epoch {epoch}: train loss {running / seen:.4f}  test acc {acc:.4f}")
