"""Two-stage transfer: pretrain on task A, fine-tune the whole network on task B (low learning rate for the body)."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def shapes(n, task, seed):
    g = torch.Generator().manual_seed(seed)
    img = torch.rand(n, 1, 10, 10, generator=g) * 0.6
    lab = torch.randint(0, 3, (n,), generator=g)
    for i in range(n):
        r, c = torch.randint(1, 6, (2,), generator=g).tolist()
        k = lab[i].item()
        if task == "A":
            img[i, 0, r:r + 3, c:c + 1 + k] += 0.8
        elif k == 0:
            img[i, 0, r:r + 3, c:c + 3] += 0.5 * torch.eye(3)
        elif k == 1:
            img[i, 0, r:r + 3, c:c + 3] += 0.5 * torch.eye(3).flip(0)
        else:
            img[i, 0, r:r + 3, c + 1] += 0.5
    return TensorDataset(img, lab)


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 12, 3), nn.ReLU(), nn.Conv2d(12, 24, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())

    def forward(self, x):
        return self.layers(x)


def pretrain(body, epochs):
    head = nn.Linear(24 * 9, 3)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=3e-3)
    for _ in range(epochs):
        for x, y in DataLoader(shapes(400, "A", 1), batch_size=50, shuffle=True):
            opt.zero_grad()
            nn.functional.cross_entropy(head(body(x)), y).backward()
            opt.step()


def finetune(body, epochs, lr):
    head = nn.Linear(24 * 9, 3)
    train_loader = DataLoader(shapes(600, "B", 2), batch_size=40, shuffle=True)
    x_val, y_val = shapes(300, "B", 3).tensors
    body_params = filter(lambda p: p.requires_grad, body.parameters())
    print("trainable tensors in the body:", len(list(body_params)))
    optimizer = torch.optim.AdamW([
        {"params": body_params, "lr": lr / 2},
        {"params": head.parameters(), "lr": lr},
    ])
    for epoch in range(epochs):
        for x, y in train_loader:
            with torch.no_grad():
                feats = body(x)
            loss = nn.functional.cross_entropy(head(feats), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = (head(body(x_val)).argmax(1) == y_val).float().mean()
        print(f"finetune epoch {epoch}: loss {loss.item():.4f} val acc {acc.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pre-epochs", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=4e-3)
    opts = parser.parse_args()
    torch.manual_seed(0)
    backbone = Body()
    pretrain(backbone, opts.pre_epochs)
    finetune(backbone, opts.epochs, opts.lr)
