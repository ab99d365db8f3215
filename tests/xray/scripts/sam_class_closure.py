import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import StepLR


class SharpnessAware(torch.optim.Optimizer):
    """step(closure) 하나로 두 번의 forward/backward를 한다."""

    def __init__(self, params, base_cls, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base_cls(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def step(self, closure):
        closure = torch.enable_grad()(closure)
        loss = closure()
        grads = [p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]
        norm = torch.stack(grads).norm() + 1e-12
        old = []
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                old.append((p, p.detach().clone()))
                p.add_(p.grad * (g["rho"] / norm))
        self.zero_grad()
        closure()
        for p, w in old:
            p.copy_(w)
        self.base.step()
        self.zero_grad()
        return loss


def rings(n, gen):
    k = torch.randint(0, 3, (n,), generator=gen)
    a = 6.283 * torch.rand(n, generator=gen)
    r = 0.6 + 0.6 * k + 0.15 * torch.randn(n, generator=gen)
    return torch.stack([r * a.cos(), r * a.sin()], 1), k


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    optimizer = SharpnessAware(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
    scheduler = StepLR(optimizer.base, step_size=60, gamma=0.3)
    losses = []
    for it in range(150):
        x, y = rings(48, gen)

        def closure():
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
        scheduler.step()
        if it % 30 == 29:
            print(f"iteration {it + 1} loss {sum(losses[-30:]) / 30:.4f} lr {scheduler.get_last_lr()[0]:.4f}")
    with torch.no_grad():
        x, y = rings(600, gen)
        print(f"test acc {(model(x).argmax(1) == y).float().mean().item():.4f}")


main()
