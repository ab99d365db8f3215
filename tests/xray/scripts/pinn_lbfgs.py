# Physics-informed network: u'' + u = 0, u(0)=0, u'(0)=1  ->  u = sin(x)
import torch
import torch.nn as nn

torch.manual_seed(1)


class PINN(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        sizes = [1] + [width] * depth + [1]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def residual_loss(net, x):
    u = net(x)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    return (u_xx + u).pow(2).mean()


def boundary_loss(net):
    x0 = torch.zeros(1, 1, requires_grad=True)
    u0 = net(x0)
    return u0.pow(2).sum() + (derivative(u0, x0) - 1).pow(2).sum()


model = PINN()
x_in = torch.linspace(0, 5, 60)[:, None].requires_grad_()

# phase 1: Adam
adam = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(150):
    adam.zero_grad()
    loss = residual_loss(model, x_in) + boundary_loss(model)
    loss.backward()
    adam.step()
print(f"after Adam: loss {loss.item():.3e}")

# phase 2: L-BFGS, 여러 번 closure를 부른다
lbfgs = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=20, history_size=20, line_search_fn="strong_wolfe")
calls = 0


def closure():
    global calls
    lbfgs.zero_grad()
    value = residual_loss(model, x_in) + boundary_loss(model)
    value.backward()
    calls += 1
    return value


for outer in range(12):
    value = lbfgs.step(closure)
    if outer % 4 == 3:
        print(f"L-BFGS outer {outer + 1}: loss {value.item():.3e} closures {calls}")

with torch.no_grad():
    grid = torch.linspace(0, 5, 200)[:, None]
    print(f"max error against sin(x): {(model(grid) - grid.sin()).abs().max().item():.4f}")
