"""Summed token losses over micro-batches, divided by the tokens of the whole update; stops and resumes."""
import copy
import math
import torch
from torch import nn
import torch.nn.functional as F

EPOCHS, MICRO, PER, N = 6, 16, 4, 392     # the last update of an epoch is a short one
PER_EPOCH = math.ceil(math.ceil(N / MICRO) / PER)


def build():
    torch.manual_seed(4)
    net = nn.ModuleDict({"e": nn.Embedding(30, 24), "r": nn.GRU(24, 40, batch_first=True), "o": nn.Linear(40, 6)})
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS * PER_EPOCH)
    return net, opt, sched


def scores(net, w):
    return net["o"](net["r"](net["e"](w))[0])


def corpus(n, g):
    w = torch.zeros(n, 16, dtype=torch.long)
    t = torch.full((n, 16), -1)
    for i in range(n):
        k = int(torch.randint(3, 17, (1,), generator=g))
        w[i, :k] = torch.randint(1, 30, (k,), generator=g)
        t[i, :k] = w[i, :k] % 3 * 2 + torch.cat([torch.zeros(1, dtype=torch.long), w[i, :k - 1]]) % 2
    return w, t


def save(net, opt, sched, epoch, g):
    return copy.deepcopy({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(),
                          "epoch": epoch, "rng": g.get_state()})


def run(net, opt, sched, data, dev, g, first, last):
    w, t = data
    for ep in range(first, last):
        total = count = 0
        for big in torch.randperm(N, generator=g).split(MICRO * PER):
            toks = (t[big] >= 0).sum()
            opt.zero_grad()
            for ix in big.split(MICRO):
                z = scores(net, w[ix])
                loss = F.cross_entropy(z.flatten(0, 1), t[ix].flatten(), ignore_index=-1, reduction="sum")
                (loss / toks).backward()
                total += loss.item()
            count += toks.item()
            opt.step()
            sched.step()
        with torch.no_grad():
            live = dev[1] >= 0
            hit = (scores(net, dev[0]).argmax(-1) == dev[1])[live].float().mean().item()
        print(f"epoch {ep} loss {total / count:.4f} dev {hit:.4f} lr {sched.get_last_lr()[0]:.6f}")


g = torch.Generator().manual_seed(4)
data, dev = corpus(N, g), corpus(120, g)
parts = build()
run(*parts, data, dev, g, 0, 3)
state = save(*parts, 3, g)

net, opt, sched = build()
net.load_state_dict(state["net"])
opt.load_state_dict(state["opt"])
sched.load_state_dict(state["sched"])
g.set_state(state["rng"])
run(net, opt, sched, data, dev, g, state["epoch"], EPOCHS)
