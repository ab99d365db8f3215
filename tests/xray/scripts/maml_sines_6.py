"""MAML on sine waves: inner step by autograd.grad with the graph kept on purpose, no nn.Module."""
import math
import torch
import torch.nn.functional as F

torch.manual_seed(5)
gen = torch.Generator().manual_seed(5)
INNER, TASKS, SHOTS, UPDATES = 0.05, 8, 10, 120


def init(w=40):
    shapes = [(1, w), (w,), (w, w), (w,), (w, 1), (1,)]
    return [(torch.randn(*s) / math.sqrt(s[0]) if len(s) == 2 else torch.zeros(*s)).requires_grad_() for s in shapes]


def net(ws, x):
    h = torch.tanh(x @ ws[0] + ws[1])
    return torch.tanh(h @ ws[2] + ws[3]) @ ws[4] + ws[5]


def task():
    a, ph = torch.rand(2, generator=gen).tolist()

    def draw(n):
        x = torch.rand(n, 1, generator=gen) * 6 - 3
        return x, (0.5 + 2 * a) * torch.sin(x + math.pi * ph)
    return draw


def adapt(ws, x, y, steps=1, create_graph=True):
    for _ in range(steps):
        gs = torch.autograd.grad(F.mse_loss(net(ws, x), y), ws, create_graph=create_graph)
        ws = [w - INNER * g for w, g in zip(ws, gs)]
    return ws


meta = init()
opt = torch.optim.Adam(meta, lr=3e-3)
window = []
for it in range(UPDATES):
    opt.zero_grad()
    outer = []
    for _ in range(TASKS):
        draw = task()
        fast = adapt(meta, *draw(SHOTS))
        xq, yq = draw(SHOTS)
        outer.append(F.mse_loss(net(fast, xq), yq))
    loss = torch.stack(outer).mean()
    loss.backward()
    opt.step()
    window.append(loss.item())
    if it % 30 == 29:
        print(f"update {it + 1} post-adaptation loss {sum(window) / len(window):.4f}")
        window.clear()

before = after = 0.0
for _ in range(50):
    draw = task()
    xs, ys = draw(SHOTS)
    xq, yq = draw(100)
    fast = [w.detach() for w in adapt(meta, xs, ys, steps=3, create_graph=False)]
    with torch.no_grad():
        before += F.mse_loss(net(meta, xq), yq).item() / 50
        after += F.mse_loss(net(fast, xq), yq).item() / 50
print(f"new tasks: before {before:.4f}, after 3 steps {after:.4f}")
