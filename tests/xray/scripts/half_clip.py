import torch
from torch import nn
from torch.nn.utils import get_total_norm, clip_grads_with_norm_

torch.manual_seed(31)

# ---- data: two noisy rings ------------------------------------------------
def rings(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (n,), generator=g)
    a = torch.rand(n, generator=g) * 6.2832
    r = 1.0 + y + 0.2 * torch.randn(n, generator=g)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y.float()

x_tr, y_tr = rings(640, 1)
x_va, y_va = rings(400, 2)

# ---- model ----------------------------------------------------------------
net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
amp = torch.amp.GradScaler("cpu", init_scale=2.0 ** 12)
half = lambda: torch.autocast("cpu", dtype=torch.float16)
criterion = nn.BCEWithLogitsLoss()


def bounded(limit):
    """decorator: bound the gradient norm before the wrapped update runs"""
    def wrap(update):
        def run():
            params = [p for p in net.parameters() if p.grad is not None]
            norm = get_total_norm([p.grad for p in params])
            clip_grads_with_norm_(params, limit, norm)
            update()
            return norm.item()
        return run
    return wrap


@bounded(1.0)
def update():
    amp.step(opt)
    amp.update()


def accuracy():
    net.eval()
    with torch.no_grad(), half():
        out = net(x_va).squeeze(1)
    return ((out > 0).float() == y_va).float().mean().item()


# ---- loop -----------------------------------------------------------------
norms = []
for epoch in range(10):
    net.train()
    for ids in torch.randperm(640).split(64):
        opt.zero_grad()
        with half():
            logits = net(x_tr[ids]).squeeze(1)
        loss = criterion(logits.float(), y_tr[ids])
        amp.scale(loss).backward()
        norms.append(update())
    print(f"epoch {epoch} loss {loss.item():.4f} mean norm {sum(norms[-10:]) / 10:.3f} val acc {accuracy():.3f}")

final = accuracy()
print("final", final)
