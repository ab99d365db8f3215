"""Distillation of a big net into a small one by matching probabilities (MSE), teacher read from disk."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def mlp(width, depth):
    layers = [nn.Linear(10, width), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 4))


x = torch.randn(1200, 10)
y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] + x[:, 3] > 0).long()
loader = DataLoader(TensorDataset(x[:900], y[:900]), batch_size=45, shuffle=True)
x_val, y_val = x[900:], y[900:]


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return (net(x_val).argmax(1) == y_val).float().mean().item()


def train_teacher(path):
    net = mlp(96, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(8):
        net.train()
        for xb, yb in loader:
            net.zero_grad()
            F.cross_entropy(net(xb), yb).backward()
            optimizer.step()
    torch.save(net.state_dict(), path)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "teacher.pth")
    train_teacher(path)
    teacher = mlp(96, 3)
    teacher.load_state_dict(torch.load(path, weights_only=True))
teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)
print(f"teacher acc {accuracy(teacher):.4f}")

student = mlp(24, 2)
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
T = 2.0
for epoch in range(10):
    student.train()
    total = 0.0
    for xb, yb in loader:
        soft_target = F.softmax(teacher(xb) / T, dim=1)
        logits = student(xb)
        # 확률끼리 MSE, 거기에 정답 loss를 조금
        loss = 4 * F.mse_loss(F.softmax(logits / T, dim=1), soft_target) + 0.3 * F.cross_entropy(logits, yb)
        student.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} kd loss {total / len(loader):.4f} student acc {accuracy(student):.4f}")
