"""Second-order MAML on sine regression with torch.func.functional_call."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class SineTask:
    def __init__(self):
        self.amp = torch.empty(1).uniform_(0.5, 3.0)
        self.phase = torch.empty(1).uniform_(0.0, math.pi)

    def sample(self, k):
        x = torch.empty(k, 1).uniform_(-4.0, 4.0)
        return x, self.amp * torch.sin(x + self.phase)


def adapt(model, x, y, inner_lr, steps, create_graph):
    fast = dict(model.named_parameters())
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, fast, (x,)), y)
        grads = torch.autograd.grad(loss, tuple(fast.values()), create_graph=create_graph)
        fast = {name: w - inner_lr * g for (name, w), g in zip(fast.items(), grads)}
    return fast


def meta_test(model, tasks, inner_lr, steps, shots):
    before = after = 0.0
    for task in tasks:
        x, y = task.sample(shots)
        xq, yq = task.sample(50)
        fast = adapt(model, x, y, inner_lr, steps, create_graph=False)
        with torch.no_grad():
            before += F.mse_loss(model(xq), yq).item() / len(tasks)
            after += F.mse_loss(functional_call(model, fast, (xq,)), yq).item() / len(tasks)
    return before, after


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=350)
    parser.add_argument("--meta-batch", type=int, default=4)
    parser.add_argument("--shots", type=int, default=10)
    parser.add_argument("--inner-lr", type=float, default=0.02)
    parser.add_argument("--meta-lr", type=float, default=3e-3)
    args = parser.parse_args()

    torch.manual_seed(6)
    model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    meta_opt = torch.optim.Adam(model.parameters(), lr=args.meta_lr)
    held_out = [SineTask() for _ in range(20)]

    for it in range(1, args.iterations + 1):
        meta_opt.zero_grad()
        meta_loss = 0.0
        for _ in range(args.meta_batch):
            task = SineTask()
            xs, ys = task.sample(args.shots)
            xq, yq = task.sample(args.shots)
            fast = adapt(model, xs, ys, args.inner_lr, 1, create_graph=True)
            loss = F.mse_loss(functional_call(model, fast, (xq,)), yq) / args.meta_batch
            loss.backward()
            meta_loss += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        meta_opt.step()
        if it % 100 == 0:
            print(f"iteration {it} meta loss {meta_loss:.4f}")

    before, after = meta_test(model, held_out, args.inner_lr, 5, args.shots)
    print(f"held-out tasks: mse before adaptation {before:.4f}, after 5 steps {after:.4f}")


if __name__ == "__main__":
    main()
