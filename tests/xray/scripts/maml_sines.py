"""MAML on sine waves: inner steps by autograd.grad on functional parameters, outer step by Adam."""
import torch
import torch.nn as nn
from torch.func import functional_call


def task(gen):
    amp = 0.5 + 2 * torch.rand(1, generator=gen)
    phase = 6.28 * torch.rand(1, generator=gen)

    def draw(k):
        x = 4 * torch.rand(k, 1, generator=gen) - 2
        return x / 2, amp * torch.sin(x + phase)
    return draw


def adapt(model, params, x, y, inner_lr, steps, create_graph):
    for _ in range(steps):
        loss = (functional_call(model, params, (x,)) - y).square().mean()
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {k: p - inner_lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def main(iterations=160, tasks_per_batch=4, shots=10, inner_lr=0.1):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    meta_opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    history = []
    for it in range(iterations):
        meta_opt.zero_grad()
        batch_loss = 0.0
        for _ in range(tasks_per_batch):
            draw = task(gen)
            params = dict(model.named_parameters())
            fast = adapt(model, params, *draw(shots), inner_lr, steps=1, create_graph=True)
            xq, yq = draw(shots)
            loss = (functional_call(model, fast, (xq,)) - yq).square().mean() / tasks_per_batch
            loss.backward()
            batch_loss += loss.item()
        meta_opt.step()
        history.append(batch_loss)
        if it % 30 == 29:
            print(f"iteration {it + 1} query loss {sum(history[-30:]) / 30:.4f}")

    # 새 task에 적응
    before, after = 0.0, 0.0
    for _ in range(20):
        draw = task(gen)
        params = {k: p.detach().clone().requires_grad_() for k, p in model.named_parameters()}
        fast = adapt(model, params, *draw(shots), inner_lr, steps=5, create_graph=False)
        xq, yq = draw(50)
        with torch.no_grad():
            before += (functional_call(model, params, (xq,)) - yq).square().mean().item() / 20
            after += (functional_call(model, fast, (xq,)) - yq).square().mean().item() / 20
    print(f"new tasks: mse {before:.4f} before, {after:.4f} after 5 steps")


if __name__ == "__main__":
    main()
