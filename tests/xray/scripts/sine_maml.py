"""MAML on sine waves: inner steps with autograd.grad and functional_call, one outer step per batch of tasks."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(59)
INNER_LR, TASKS, SHOTS = 0.05, 4, 10


class Net(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(1, h), nn.Linear(h, h), nn.Linear(h, 1)

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


class SineTask:
    def __init__(self):
        self.amp = 0.5 + 2 * torch.rand(1)
        self.phase = 3.1416 * torch.rand(1)

    def sample(self, n):
        x = 10 * torch.rand(n, 1) - 5
        return x, self.amp * torch.sin(x + self.phase)


def adapt(net, params, x, y, steps, second_order):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=second_order)
        params = {k: p - INNER_LR * g for (k, p), g in zip(params.items(), grads)}
    return params


def evaluate(net, tasks=20):
    before = after = 0.0
    for _ in range(tasks):
        t = SineTask()
        xs, ys = t.sample(SHOTS)
        xq, yq = t.sample(50)
        base = dict(net.named_parameters())
        fast = adapt(net, base, xs, ys, 3, second_order=False)  # needs gradients
        with torch.no_grad():
            before += F.mse_loss(functional_call(net, base, (xq,)), yq).item()
            after += F.mse_loss(functional_call(net, fast, (xq,)), yq).item()
    return before / tasks, after / tasks


net = Net()
meta = torch.optim.Adam(net.parameters(), lr=3e-3)
log = []
for it in range(300):
    meta.zero_grad()
    outer = 0.0
    for _ in range(TASKS):
        task = SineTask()
        fast = adapt(net, dict(net.named_parameters()), *task.sample(SHOTS), steps=1, second_order=True)
        xq, yq = task.sample(SHOTS)
        outer = outer + F.mse_loss(functional_call(net, fast, (xq,)), yq)
    outer = outer / TASKS
    outer.backward()
    meta.step()
    log.append(outer.item())
    if it % 75 == 74:
        b, a = evaluate(net)
        print(f"it {it + 1}: outer {sum(log[-75:]) / 75:.4f}; new tasks before {b:.4f} after three steps {a:.4f}")
