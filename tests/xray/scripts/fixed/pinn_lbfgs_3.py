"""Physics informed net for u'' = -pi^2 sin(pi x), u(0)=u(1)=0."""
import math
import torch
import torch.nn as nn

torch.manual_seed(1234)
torch.set_default_dtype(torch.float64)


class PINN(nn.Module):
    def __init__(self, width=20, depth=2):
        super().__init__()
        dims = [1] + [width] * depth + [1]
        layers = []
        for a, b in zip(dims[:-2], dims[1:-1]):
            layers += [nn.Linear(a, b), nn.Tanh()]
        layers.append(nn.Linear(dims[-2], dims[-1]))
        self.net = nn.Sequential(*layers)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.net(x)


def residual(model, x):
    x = x.clone().requires_grad_(True)
    u = model(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)[0]
    return d2u + math.pi ** 2 * torch.sin(math.pi * x)


x_in = torch.rand(64, 1)
x_bc = torch.tensor([[0.0], [1.0]])
x_test = torch.linspace(0, 1, 101).unsqueeze(1)
u_exact = torch.sin(math.pi * x_test)

model = PINN()
optimizer = torch.optim.LBFGS(
    model.parameters(), lr=0.5, max_iter=5, history_size=20)
history = []


def closure():
    optimizer.zero_grad()
    loss_pde = residual(model, x_in).pow(2).mean()
    loss_bc = model(x_bc).pow(2).mean()
    loss = loss_pde + 100.0 * loss_bc
    loss.backward()
    return loss


for it in range(40):
    loss = optimizer.step(closure)
    history.append(loss.item())
    if (it + 1) % 10 == 0:
        with torch.no_grad():
            err = (model(x_test) - u_exact).norm() / u_exact.norm()
        print("iter %d  loss %.4e  rel L2 error %.4e" % (it + 1, history[-1], err.item()))
