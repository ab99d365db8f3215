"""Tabular regressor; the averaged ("Polyak") weights are the ones that are shipped."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
DECAY = 0.95


class Regressor(nn.Module):
    def __init__(self, d_in, d_hidden=64, p=0.2):
        super().__init__()
        self.p = p
        self.inp = nn.Linear(d_in, d_hidden)
        self.mid = nn.Linear(d_hidden, d_hidden)
        self.out = nn.Linear(d_hidden, 1)

    def forward(self, x):
        h = F.silu(self.inp(x))
        h = F.dropout(F.silu(self.mid(h)), self.p)
        return self.out(h).squeeze(-1)


def target(x):
    return torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * x[:, 3]


def blend(shadow, net):
    """One step of the moving average."""
    for name, p in net.named_parameters():
        shadow[name] = DECAY * shadow[name] + (1 - DECAY) * p


x = torch.randn(1200, 8)
y = target(x) + 0.1 * torch.randn(1200)
train = DataLoader(TensorDataset(x[:900], y[:900]), batch_size=45, shuffle=True)
x_val, y_val = x[900:], y[900:]

net = Regressor(8)
shadow = {n: p.detach().clone() for n, p in net.named_parameters()}
opt = torch.optim.Adam(net.parameters(), lr=4e-3)

for epoch in range(15):
    net.train()
    s = 0.0
    for xb, yb in train:
        pred = net(xb)
        loss = F.mse_loss(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        blend(shadow, net)
        s += loss.item() * len(yb)
    net.eval()
    with torch.no_grad():
        averaged = functional_call(net, shadow, (x_val,))
        mse = F.mse_loss(averaged, y_val).item()
    print(f"epoch {epoch:2d} train {s / 900:.4f} val (averaged) {mse:.4f}")
