"""MAML, second order, sine regression."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(30)
META_STEPS, TASKS, SHOTS, INNER, ALPHA = 36, 4, 10, 2, 0.02


def sample_task():
    amp, phase = torch.rand(1) * 4 + 0.5, torch.rand(1) * 3.14

    def draw(n):
        x = torch.rand(n, 1) * 10 - 5
        return x, amp * torch.sin(x + phase)

    return draw


net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
meta_opt = torch.optim.Adam(net.parameters(), lr=5e-3)
warm = torch.optim.lr_scheduler.LinearLR(meta_opt, start_factor=0.2, total_iters=6)
flat = torch.optim.lr_scheduler.ConstantLR(meta_opt, factor=1.0, total_iters=1)
sched = torch.optim.lr_scheduler.SequentialLR(meta_opt, [warm, flat], milestones=[6])


def adapt(x, y, create_graph):
    fast = dict(net.named_parameters())
    for _ in range(INNER):
        loss = F.mse_loss(functional_call(net, fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=create_graph)
        fast = {k: w - ALPHA * g for (k, w), g in zip(fast.items(), grads)}
    return fast


window = []
for it in range(META_STEPS):
    meta_opt.zero_grad()
    outer = 0.0
    for _ in range(TASKS):
        task = sample_task()
        fast = adapt(*task(SHOTS), create_graph=True)
        xq, yq = task(SHOTS)
        q = F.mse_loss(functional_call(net, fast, (xq,)), yq)
        # gradients of the tasks add up to the meta gradient
        (q / TASKS).backward()
        outer += q.item() / TASKS
    nn.utils.clip_grad_value_(net.parameters(), 10.0)
    meta_opt.step()
    sched.step()
    window.append(outer)
    if (it + 1) % 12 == 0:
        task = sample_task()
        xs, ys = task(SHOTS)
        xq, yq = task(100)
        fast = adapt(xs, ys, create_graph=False)  # needs gradients also when testing
        with torch.no_grad():
            after = F.mse_loss(functional_call(net, fast, (xq,)), yq).item()
            before = F.mse_loss(net(xq), yq).item()
        print(f"meta step {it + 1} outer {sum(window[-12:]) / 12:.4f} test before {before:.4f} after {after:.4f}")
