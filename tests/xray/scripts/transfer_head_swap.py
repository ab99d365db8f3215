"""Pretrain on task A, keep the trunk frozen, learn task B with a new head."""
import torch
from torch import nn, optim

torch.manual_seed(21)
DIM = 24


def trunk_net():
    return nn.Sequential(
        nn.Linear(DIM, 64), nn.BatchNorm1d(64), nn.ReLU(),
        nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
    )


class Classifier(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.trunk = trunk_net()
        self.head = nn.Linear(64, n_classes)

    def forward(self, x):
        return self.head(self.trunk(x))

    def freeze_trunk(self):
        for p in self.trunk.parameters():
            p.requires_grad = False

    def new_head(self, n_classes):
        self.head = nn.Linear(self.head.in_features, n_classes)


MIX = torch.randn(DIM, 8)


def source(n):
    x = torch.randn(n, DIM)
    return x, (x @ MIX).tanh().argmax(1)


def target(n):
    """Few labels; the samples come as bursts from one sensor setting each."""
    x = torch.randn(n, DIM)
    gain = 0.4 + 2.2 * torch.rand(n // 8, 1, 1)
    x = (x.view(-1, 8, DIM) * gain).view(n, DIM)
    proj = (x @ MIX).tanh()
    y = (proj[:, 0] > proj[:, 1]).long() + 2 * (x.norm(dim=1) > 7.0).long()
    return x, y


def loop(model, opt, x, y, epochs, batch, on_start, shuffle=True):
    lossf = nn.CrossEntropyLoss()
    for _ in range(epochs):
        on_start(model)
        starts = torch.arange(0, len(x), batch)
        if shuffle:
            starts = starts[torch.randperm(len(starts))]
        for s in starts.tolist():
            loss = lossf(model(x[s:s + batch]), y[s:s + batch])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


@torch.no_grad()
def acc(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


model = Classifier(8)
xa, ya = source(3000)
loop(model, optim.Adam(model.parameters(), lr=3e-3), xa, ya, 8, 64, on_start=lambda m: m.train())
print("source accuracy", round(acc(model, *source(1000)), 4))

xb, yb = target(640)
xt, yt = target(2000)
model.freeze_trunk()
optimizer = optim.Adam(model.parameters(), lr=1e-2)
model.new_head(4)


def start_finetune(m):
    m.train()


for round_ in range(5):
    last = loop(model, optimizer, xb, yb, 4, 8, on_start=start_finetune)
    print(f"round {round_}: last loss {last:.4f}, target accuracy {acc(model, xt, yt):.4f}")
