"""Knowledge distillation: wide teacher -> narrow student on sensor windows."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, width, depth=2, d_in=24, n_classes=8):
        super().__init__()
        dims = [d_in] + [width] * depth
        self.trunk = nn.Sequential(*[m for a, b in zip(dims, dims[1:]) for m in (nn.Linear(a, b), nn.ReLU())])
        self.classifier = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.classifier(self.trunk(x))


def sensor_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    world = torch.Generator().manual_seed(1000)
    w1, w2 = torch.randn(24, 40, generator=world), torch.randn(40, 8, generator=world)
    x = torch.randn(n, 24, generator=g)
    return TensorDataset(x, (torch.relu(x @ w1 / 5) @ w2).argmax(1))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


def fit_teacher(loader, epochs=6):
    teacher = Classifier(128)
    opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()
    return teacher.eval().requires_grad_(False)


def kd_loss(student_logits, teacher_logits, labels, T, alpha):
    soft = F.kl_div(F.log_softmax(student_logits / T, dim=1), F.softmax(teacher_logits / T, dim=1),
                    reduction="batchmean") * T * T
    probs = F.softmax(student_logits, dim=1)
    hard = F.cross_entropy(probs, labels)
    return alpha * soft + (1 - alpha) * hard, hard


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--T", type=float, default=2.0)
    ap.add_argument("--alpha", type=float, default=0.2)
    ap.add_argument("--epochs", type=int, default=8)
    args = ap.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(sensor_data(1600, 0), batch_size=50, shuffle=True)
    val_loader = DataLoader(sensor_data(500, 1), batch_size=250)
    teacher = fit_teacher(train_loader)
    print(f"teacher acc {accuracy(teacher, val_loader):.4f}")

    student = Classifier(20, depth=1)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(args.epochs):
        student.train()
        total = hard_total = 0.0
        for x, y in train_loader:
            with torch.no_grad():
                teacher_logits = teacher(x)
                feats = student.trunk(x)
            student_logits = student.classifier(feats)
            loss, hard = kd_loss(student_logits, teacher_logits, y, args.T, args.alpha)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            hard_total += hard.item()
        n = len(train_loader)
        print(f"epoch {epoch} kd {total / n:.4f} hard {hard_total / n:.4f} student acc {accuracy(student, val_loader):.4f}")


if __name__ == "__main__":
    main()
