"""Everything from scratch: parameters are plain tensors, no nn.Module and no torch.optim."""
import torch
import torch.nn.functional as F

torch.manual_seed(2)


def init_params(sizes):
    params = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        w = (torch.randn(fan_in, fan_out) * (2 / fan_in) ** 0.5).requires_grad_()
        b = torch.zeros(fan_out, requires_grad=True)
        params += [w, b]
    return params


def forward(params, x):
    n = len(params) // 2
    for i in range(n):
        x = x @ params[2 * i] + params[2 * i + 1]
        if i < n - 1:
            x = x.relu()
    return x


def make_moons(n):
    t = torch.rand(n) * 3.14159
    side = torch.randint(0, 2, (n,))
    x = torch.stack([t.cos() * (1 - 2 * side) + side, t.sin() * (1 - 2 * side) + 0.5 * side], 1)
    return x + 0.12 * torch.randn(n, 2), side


def sgd_momentum(params, velocity, lr, mu=0.9):
    with torch.no_grad():
        for p, v in zip(params, velocity):
            v.mul_(mu).add_(p.grad)
            p -= lr * v
            p.grad = None


x_train, y_train = make_moons(800)
x_test, y_test = make_moons(400)
params = init_params([2, 32, 32, 2])
velocity = [torch.zeros_like(p) for p in params]
base_lr, epochs, bs = 0.05, 10, 40
for epoch in range(epochs):
    lr = base_lr * (1 - epoch / epochs)        # 선형 감소
    order = torch.randperm(len(x_train))
    running = 0.0
    for i in range(0, len(order), bs):
        idx = order[i:i + bs]
        loss = F.cross_entropy(forward(params, x_train[idx]), y_train[idx])
        loss.backward()
        sgd_momentum(params, velocity, lr)
        running += loss.item() * len(idx)
    with torch.no_grad():
        acc = (forward(params, x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch:2d} lr {lr:.3f} loss {running / len(x_train):.4f} test acc {acc:.4f}")
