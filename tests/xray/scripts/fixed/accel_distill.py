import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __init__(self, n, seed, centers):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, len(centers), (n,), generator=g)
        self.x = centers[self.y] + 1.1 * torch.randn(n, centers.size(1), generator=g)
        self.x[:, -1] = 25 * torch.randn(n, generator=g)          # one badly scaled sensor

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Student(nn.Module):
    def __init__(self, d_in, n_out):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(d_in, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
        self.head = nn.Linear(24, n_out)

    def forward(self, x):
        feat = self.backbone(x)
        return self.head(feat), feat


def kd_loss(s, t, T=2.0):
    return F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean") * T * T


def main(args):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(args.seed)
    centers = torch.randn(8, 12) * 1.2
    train = DataLoader(Blobs(960, 1, centers), batch_size=48, shuffle=True)
    test = DataLoader(Blobs(400, 2, centers), batch_size=200)
    teacher = nn.Sequential(nn.BatchNorm1d(12), nn.Linear(12, 96), nn.ReLU(), nn.Linear(96, 8))
    student = Student(12, 8)

    # 1) teacher
    opt_t = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(3):
        for x, y in train:
            opt_t.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt_t.step()
    teacher.eval().requires_grad_(False)

    # 2) student
    optimizer = torch.optim.SGD(student.parameters(), lr=args.lr)
    student, optimizer, train, test = accelerator.prepare(student, optimizer, train, test)
    for epoch in range(args.epochs):
        student.train()
        for x, y in train:
            out, _ = student(x)
            with torch.no_grad():
                soft = teacher(x)
            loss = 0.5 * F.cross_entropy(out, y) + 0.5 * kd_loss(out, soft)
            optimizer.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(student.parameters(), args.max_norm)
            optimizer.step()
        student.eval()
        with torch.inference_mode():
            hits = sum((student(x)[0].argmax(1) == y).sum().item() for x, y in test)
        accelerator.print(f"[{epoch}] loss={loss.item():.4f} test acc={hits / 400:.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=0.4)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--max-norm", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=0)
    main(ap.parse_args())
