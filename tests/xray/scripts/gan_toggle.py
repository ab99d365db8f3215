"""Conditional GAN on 1-D signals; D is switched to requires_grad=False during the generator's step."""
import torch
import torch.nn as nn

torch.manual_seed(5)
nz, L, n_class, batch = 8, 32, 3, 64
t = torch.linspace(0, 1, L)


def real_signals(n):
    c = torch.randint(0, n_class, (n,))
    freq = torch.tensor([2.0, 4.0, 6.0])[c][:, None]
    return torch.sin(6.2832 * (freq * t + 0.15 * torch.rand(n, 1))) + 0.05 * torch.randn(n, L), c


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(n_class, 8)
        self.net = nn.Sequential(nn.Linear(nz + 8, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, L))

    def forward(self, z, c):
        return self.net(torch.cat([z, self.emb(c)], 1))


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(n_class, 8)
        self.net = nn.Sequential(nn.Linear(L + 8, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2),
                                 nn.Linear(96, 1))

    def forward(self, x, c):
        return self.net(torch.cat([x, self.emb(c)], 1)).squeeze(1)


def toggle(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


netG, netD = G(), D()
optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
schedulers = [torch.optim.lr_scheduler.MultiStepLR(o, [600, 780], gamma=0.5) for o in (optG, optD)]

for it in range(1, 901):
    toggle(netD, True)
    for _ in range(2):
        x, c = real_signals(batch)
        with torch.no_grad():
            fake = netG(torch.randn(batch, nz), c)
        lossD = torch.relu(1 - netD(x, c)).mean() + torch.relu(1 + netD(fake, c)).mean()
        optD.zero_grad()
        lossD.backward()
        optD.step()

    toggle(netD, False)
    c = torch.randint(0, n_class, (batch,))
    lossG = -netD(netG(torch.randn(batch, nz), c), c).mean()
    optG.zero_grad()
    lossG.backward()
    optG.step()
    for s in schedulers:
        s.step()
    if it % 180 == 0:
        with torch.no_grad():
            c = torch.arange(n_class).repeat(60)
            spec = torch.fft.rfft(netG(torch.randn(len(c), nz), c)).abs()[:, 1:9]
            right = (spec.argmax(1) + 1 == torch.tensor([2, 4, 6])[c]).float().mean()
        print(f"{it:4d} D {lossD.item():.3f} G {lossG.item():.3f} dominant frequency right {right:.3f}")
