# least-squares GAN for a 2-D mixture, both rates fall linearly to zero
import torch
from torch import nn

torch.manual_seed(19)
gen = torch.Generator().manual_seed(19)
STEPS, B, Z = 600, 64, 8


def real(n):
    k = torch.randint(0, 4, (n,), generator=gen)
    c = torch.tensor([[2., 0.], [0., 2.], [-2., 0.], [0., -2.]])
    return c[k] + 0.15 * torch.randn(n, 2, generator=gen)


def mlp(i, o, w=64):
    return nn.Sequential(nn.Linear(i, w), nn.LeakyReLU(0.2), nn.Linear(w, w), nn.LeakyReLU(0.2), nn.Linear(w, o))


nets = {"G": mlp(Z, 2), "D": mlp(2, 1)}
opts = {k: torch.optim.Adam(n.parameters(), lr=2e-3, betas=(0.5, 0.99)) for k, n in nets.items()}

makers = []
for opt in opts.values():
    makers.append(lambda fall, opt=opt: torch.optim.lr_scheduler.LambdaLR(opt, fall))
scheds = [make(lambda s: max(0.0, 1 - s / STEPS)) for make in makers]


def trainable(net, on):
    for p in net.parameters():
        p.requires_grad_(on)


def step_d():
    trainable(nets["D"], True)
    x = real(B)
    with torch.no_grad():
        f = nets["G"](torch.randn(B, Z, generator=gen))
    loss = 0.5 * ((nets["D"](x) - 1).square().mean() + nets["D"](f).square().mean())
    opts["D"].zero_grad()
    loss.backward()
    opts["D"].step()
    return loss.item()


def step_g():
    trainable(nets["D"], False)
    f = nets["G"](torch.randn(B, Z, generator=gen))
    loss = 0.5 * (nets["D"](f) - 1).square().mean()
    opts["G"].zero_grad()
    loss.backward()
    opts["G"].step()
    return loss.item()


@torch.no_grad()
def distance(n=800):
    """Energy distance between real and generated points."""
    a, b = real(n), nets["G"](torch.randn(n, Z, generator=gen))
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


last = []
for s in range(STEPS):
    ld, lg = step_d(), step_g()
    for sc in scheds:
        sc.step()
    if s % 100 == 99:
        rates = {k: round(o.param_groups[0]["lr"], 6) for k, o in opts.items()}
        print(f"step {s} d {ld:.4f} g {lg:.4f} rates {rates} energy {distance():.4f}")
