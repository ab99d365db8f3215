from functools import partial
import torch
import torch.nn as nn


class Pooled(nn.Module):
    """Attention pooling over a set of events, then class scores."""

    def __init__(self, d=10, w=40, k=5):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, w), nn.ReLU())
        self.att = nn.Linear(w, 1)
        self.out = nn.Linear(w, k)

    def forward(self, s):
        h = self.enc(s)
        a = self.att(h).softmax(1)
        return self.out((a * h).sum(1))


class Tempered(Pooled):
    """The same with a learned temperature."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.logt = nn.Parameter(torch.zeros(()))

    def forward(self, s):
        z = super().forward(s) * self.logt.exp()
        return z.softmax(-1)


def smoothed(z, y, eps=0.05):
    lp = z - z.logsumexp(-1, keepdim=True)
    hit = lp.gather(1, y[:, None]).squeeze(1)
    return -((1 - eps) * hit + eps * lp.mean(1)).mean()


def events(n, gen, centers):
    y = torch.randint(0, 5, (n,), generator=gen)
    s = torch.randn(n, 8, 10, generator=gen)
    where = torch.randint(0, 8, (n,), generator=gen)
    s[torch.arange(n), where] += centers[y]
    return s, y


def sweep(model, opt, data, bs, gen, train=True):
    model.train(train)
    x, y = data
    order = torch.randperm(len(y), generator=gen) if train else torch.arange(len(y))
    cost = hits = 0
    with torch.set_grad_enabled(train):
        for ix in order.split(bs):
            z = model(x[ix])
            loss = smoothed(z, y[ix])
            if train:
                opt.zero_grad()
                loss.backward()
                opt.step()
            cost += loss.item() * len(ix)
            hits += (z.argmax(1) == y[ix]).sum().item()
    return cost / len(y), hits / len(y)


def main():
    torch.manual_seed(52)
    gen = torch.Generator().manual_seed(52)
    centers = 1.2 * torch.randn(5, 10, generator=gen)
    train, val = events(500, gen, centers), events(1000, gen, centers)
    model = Tempered()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    go = partial(sweep, model, opt, data=train, bs=25, gen=gen)
    check = partial(go, train=False)
    for ep in range(25):
        tl, ta = go()
        vl, va = check()
        if ep % 4 == 0:
            print(f"{ep:2d} train {tl:.4f}/{ta:.3f}  validation {vl:.4f}/{va:.3f}")
    print("final validation accuracy", round(va, 4))


main()
