"""EMA kept in torch.optim.swa_utils; BatchNorm buffers averaged too; weights evaluated through the EMA copy."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset


def rings(n, gen):
    y = torch.randint(0, 3, (n,), generator=gen)
    a = 6.2832 * torch.rand(n, generator=gen)
    r = 1.0 + y + 0.3 * torch.randn(n, generator=gen)
    return TensorDataset(torch.stack([r * a.cos(), r * a.sin()], 1), y)


class evaluating:
    """with evaluating(net): eval mode and no_grad, afterwards everything as before"""

    def __init__(self, net):
        self.net, self.ng = net, torch.no_grad()

    def __enter__(self):
        self.was = self.net.training
        self.net.eval()
        self.ng.__enter__()
        return self.net

    def __exit__(self, *exc):
        self.ng.__exit__(*exc)
        self.net.train(self.was)


def accuracy(net, loader):
    with evaluating(net):
        good = sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
    return good / len(loader.dataset)


torch.manual_seed(54)
gen = torch.Generator().manual_seed(540)
train = DataLoader(rings(800, gen), batch_size=50, shuffle=True)
valid = DataLoader(rings(350, gen), batch_size=100)
net = nn.Sequential(nn.Linear(2, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 3))
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.95), use_buffers=True)
opt = torch.optim.Adam(net.parameters(), lr=4e-3)

net.train()
for epoch in range(8):
    total = 0.0
    for x, y in train:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update_parameters(net)
        total += loss.item() * len(y)
    print(f"{epoch} loss {total / 800:.4f} raw {accuracy(net, valid):.4f} ema {accuracy(ema, valid):.4f}")
    assert net.training
