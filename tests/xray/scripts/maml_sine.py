import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)


def task():
    amp, phase = 0.5 + 2 * torch.rand(1), 3.14 * torch.rand(1)

    def draw(n=10):
        x = torch.rand(n, 1) * 10 - 5
        return x, amp * torch.sin(x + phase)

    return draw


for it in range(50):
    meta.zero_grad()
    outer = 0.0
    for _ in range(4):
        draw = task()
        fast = dict(net.named_parameters())
        x, y = draw()
        for _ in range(2):
            loss = nn.functional.mse_loss(functional_call(net, fast, (x,)), y)
            grads = torch.autograd.grad(loss, tuple(fast.values()), create_graph=True)
            fast = {n: p - 0.01 * g for (n, p), g in zip(fast.items(), grads)}
        xq, yq = draw()
        query = nn.functional.mse_loss(functional_call(net, fast, (xq,)), yq) / 4
        query.backward()
        outer += query.item()
    meta.step()
    if it % 10 == 0:
        print(it, f"{outer:.4f}")
