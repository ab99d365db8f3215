"""Shared encoder with three heads, micro-batches accumulated to an effective batch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TASKS = {"colour": 4, "shape": 3, "size": 1}
WEIGHTS = {"colour": 1.0, "shape": 1.0, "size": 0.5}


class MultiHead(nn.Module):
    def __init__(self, inp=20, hid=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inp, hid), nn.ReLU(), nn.Linear(hid, hid), nn.ReLU())
        self.heads = nn.ModuleDict({k: nn.Linear(hid, n) for k, n in TASKS.items()})

    def forward(self, x):
        z = self.encoder(x)
        return {k: head(z) for k, head in self.heads.items()}


def task_loss(name, out, target):
    if name == "size":
        return nn.functional.mse_loss(out.squeeze(1), target)
    return nn.functional.cross_entropy(out, target.long())


def total_loss(outputs, targets):
    loss = 0.0
    for i, name in enumerate(TASKS):
        loss = loss + WEIGHTS[name] * task_loss(name, outputs[name], targets[:, i])
    return loss


def dataset(n, g, mats):
    x = torch.randn(n, 20, generator=g)
    colour = (x @ mats[0]).argmax(1).float()
    shape = (x.relu() @ mats[1]).argmax(1).float()
    size = torch.tanh(x @ mats[2]).squeeze(1)
    return TensorDataset(x, torch.stack([colour, shape, size], 1))


def evaluate(model, ds):
    model.eval()
    x, t = ds.tensors
    with torch.no_grad():
        out = model(x)
    model.train()
    return {
        "colour": (out["colour"].argmax(1) == t[:, 0].long()).float().mean().item(),
        "shape": (out["shape"].argmax(1) == t[:, 1].long()).float().mean().item(),
        "size_mse": (out["size"].squeeze(1) - t[:, 2]).pow(2).mean().item(),
    }


def main(epochs=8, micro=8, accumulate=8):
    torch.manual_seed(13)
    g = torch.Generator().manual_seed(1)
    mats = [torch.randn(20, 4, generator=g), torch.randn(20, 3, generator=g), torch.randn(20, 1, generator=g) * 0.3]
    train, val = dataset(2048, g, mats), dataset(1000, g, mats)
    loader = DataLoader(train, batch_size=micro, shuffle=True)
    model = MultiHead()
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(epochs):
        for i, (x, t) in enumerate(loader):
            loss = total_loss(model(x), t) / accumulate
            loss.backward()
            if (i + 1) % accumulate == 0:
                opt.step()
                opt.zero_grad()
        print(epoch, {k: round(v, 4) for k, v in evaluate(model, val).items()})


if __name__ == "__main__":
    main()
