"""Knowledge distillation: a small student learns from a trained teacher."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


def mlp(width, depth=2):
    layers, d = [], 12
    for _ in range(depth):
        layers += [nn.Linear(d, width), nn.ReLU()]
        d = width
    return nn.Sequential(*layers, nn.Linear(d, 4))


def make_loaders():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(900, 12, generator=g)
    y = (x[:, 0] > 0).long() * 2 + (x[:, 1] * x[:, 2] > 0).long()
    tr, va = random_split(TensorDataset(x, y), [700, 200], generator=g)
    return DataLoader(tr, batch_size=50, shuffle=True), DataLoader(va, batch_size=100)


def train_teacher(teacher, loader):
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(1):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()


def distill(student, teacher, loader, epochs, T=3.0, alpha=0.6):
    opt = torch.optim.AdamW(student.parameters(), lr=3e-3)
    teacher.eval()
    for epoch in range(epochs):
        student.train()
        for x, y in loader:
            with torch.no_grad():
                t_logits = teacher(x)
                s_logits = student(x)
            soft = F.kl_div(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean") * T * T
            loss = alpha * soft + (1 - alpha) * F.cross_entropy(s_logits, y)
            loss.requires_grad_(True)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} distill loss {loss.item():.4f}")


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hit = n = 0
    for x, y in loader:
        hit += (model(x).argmax(1) == y).sum().item()
        n += len(y)
    return hit / n


def main():
    torch.manual_seed(3)
    train_loader, val_loader = make_loaders()
    teacher, student = mlp(128), mlp(24, 1)
    train_teacher(teacher, train_loader)
    distill(student, teacher, train_loader, epochs=5)
    print("val acc", evaluate(student, val_loader))


main()
