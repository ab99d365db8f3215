"""Semi-supervised digits: labelled loss + consistency on unlabelled data."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(47)
EPOCHS = 20
proto = torch.randn(6, 30)


def draw(n):
    y = torch.randint(0, 6, (n,))
    return proto[y] + 1.7 * torch.randn(n, 30), y


lab = DataLoader(TensorDataset(*draw(240)), batch_size=24, shuffle=True)
unlab = DataLoader(TensorDataset(*draw(960)), batch_size=24, shuffle=True)
x_test, y_test = draw(600)

model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)


def consistency(net, x):
    with torch.no_grad():
        target = net(x).softmax(1)
    return F.mse_loss(net(x + 0.3 * torch.randn_like(x)).softmax(1), target)


for epoch in range(EPOCHS):
    model.train()
    total, count = 0.0, 0
    for (x, y), (u, _) in zip(lab, unlab):
        supervised = F.cross_entropy(model(x), y)
        loss = supervised + 0.5 * consistency(model, u)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += supervised.item() * len(y)
        count += len(y)
    scheduler.step()

    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    lr = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch:2d} supervised loss {total / count:.4f} test acc {acc:.4f} lr {lr:.5f}")
