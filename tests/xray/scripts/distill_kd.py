import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

T = 4.0
ALPHA = 0.7


def toy(n=1280):
    x = torch.randn(n, 12)
    w = torch.randn(12, 6)
    y = (torch.sin(x @ w) + 0.5 * (x @ w)).argmax(1)
    return TensorDataset(x, y)


def big():
    return nn.Sequential(
        nn.Linear(12, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.4),
        nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.4), nn.Linear(128, 6))


def small():
    return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 6))


def accuracy(model, loader):
    was_training = model.training
    model.eval()
    hit = n = 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x).argmax(1) == y).sum().item()
            n += y.numel()
    model.train(was_training)
    return hit / n


def fit_teacher(model, loader, epochs=1):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()


def distill(teacher, student, loader, epochs=2):
    opt = torch.optim.Adam(student.parameters(), lr=5e-3)
    kl = nn.KLDivLoss(reduction="batchmean")
    student.train()
    for e in range(epochs):
        tot = 0.0
        for x, y in loader:
            with torch.no_grad():
                t_logits = teacher(x)
            s_logits = student(x)
            soft = kl(F.softmax(s_logits / T, dim=1), F.softmax(t_logits / T, dim=1)) * T * T
            loss = ALPHA * soft + (1 - ALPHA) * F.cross_entropy(s_logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * y.numel()
        print(f"  distill epoch {e}: loss {tot / len(loader.dataset):.4f}")


if __name__ == "__main__":
    torch.manual_seed(123)
    train, test = random_split(toy(), [1024, 256])
    train_loader = DataLoader(train, batch_size=64, shuffle=True)
    test_loader = DataLoader(test, batch_size=128)
    teacher, student = big(), small()
    fit_teacher(teacher, train_loader)
    print(f"teacher acc {accuracy(teacher, test_loader):.4f}")
    distill(teacher, student, train_loader)
    print(f"student acc {accuracy(student, test_loader):.4f} teacher acc afterwards {accuracy(teacher, test_loader):.4f}")
