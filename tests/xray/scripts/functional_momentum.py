"""Everything-is-a-function version: params are a dict, the optimizer is a pure function."""
from functools import reduce
import torch
from torch import nn
from torch.func import functional_call, grad_and_value


def problem(n, seed):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=gen)
    w = torch.linspace(-1, 1, 10)
    y = torch.tanh(x @ w) * 2 + x[:, 0].abs() + 0.1 * torch.randn(n, generator=gen)
    return x, y


module = None


def objective(params, x, y):
    return nn.functional.huber_loss(functional_call(module, params, (x,)).squeeze(-1), y)


value_and_slope = grad_and_value(objective)


def add(a, b):
    keys = list(a[0])
    summed = torch._foreach_add([a[0][k] for k in keys], [b[0][k] for k in keys])
    return dict(zip(keys, summed)), a[1] + b[1]


def slope_over(params, chunks):
    """gradient and loss for one big batch given in equal chunks"""
    grads, loss = reduce(add, (value_and_slope(params, *c) for c in chunks))
    return grads, loss / len(chunks)


def momentum(params, state, grads, lr, mu=0.9):
    new_state = {k: mu * state[k] + grads[k] for k in params}
    return {k: params[k] - lr * new_state[k] for k in params}, new_state


def batches(x, y, micro, k):
    """lists of k equal chunks, shuffled, full lists only"""
    order = torch.randperm(len(x))
    group = micro * k
    for start in range(0, len(x) - group + 1, group):
        ids = order[start:start + group]
        yield [(x[i], y[i]) for i in ids.split(micro)]


def main():
    global module
    torch.manual_seed(21)
    module = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    params = {k: v.detach().clone() for k, v in module.named_parameters()}
    state = {k: torch.zeros_like(v) for k, v in params.items()}
    x, y = problem(1024, 0)
    vx, vy = problem(512, 1)
    curve = []
    for epoch in range(20):
        epoch_losses = []
        for chunks in batches(x, y, micro=8, k=16):
            grads, loss = slope_over(params, chunks)
            params, state = momentum(params, state, grads, lr=0.1)
            epoch_losses.append(loss.item())
        with torch.no_grad():
            curve.append(objective(params, vx, vy).item())
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1} train {sum(epoch_losses) / len(epoch_losses):.4f} val {curve[-1]:.4f}")
    print("last val", curve[-1])
    return curve[-1]


if __name__ == "__main__":
    result = main()
