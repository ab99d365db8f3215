# Physics-informed net for u'' + u = 0, u(0)=0, u'(0)=1 (the sine); Adam first, L-BFGS after.
import math

import torch
from torch import nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
inner = torch.linspace(0, math.pi, 64).unsqueeze(1).requires_grad_(True)
start = torch.zeros(1, 1, requires_grad=True)


def d(u, x):
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]


def residual():
    u = net(inner)
    return (d(d(u, inner), inner) + u).pow(2).mean()


def boundary():
    u0 = net(start)
    return u0.pow(2).mean() + (d(u0, start) - 1).pow(2).mean()


def objective():
    return residual() + 10 * boundary()


@torch.no_grad()
def error():
    x = torch.linspace(0, math.pi, 200).unsqueeze(1)
    return (net(x) - torch.sin(x)).abs().max().item()


adam = torch.optim.Adam(net.parameters(), lr=5e-3)
decay = torch.optim.lr_scheduler.ExponentialLR(adam, 0.995)
for it in range(300):
    adam.zero_grad()
    loss = objective()
    loss.backward()
    adam.step()
    decay.step()
print(f"after Adam: loss {loss.item():.3e}, max error {error():.3e}")

lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, history_size=30, line_search_fn="strong_wolfe")
evals = 0


def closure():
    global evals
    evals += 1
    lbfgs.zero_grad()
    value = objective()
    value.backward()
    return value


for outer in range(8):
    before = lbfgs.step(closure)
    print(f"L-BFGS {outer}: loss {before.item():.3e}, evaluations {evals}, max error {error():.3e}")
