# Vanilla GAN on a shifted 2-D Gaussian mixture, DCGAN-tutorial style.
import math

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(3)

nz = 4
batch_size = 128
num_iters = 1500
lr_g, lr_d = 1e-3, 1e-3
real_label, fake_label = 1.0, 0.0


def sample_real(n):
    angle = torch.randint(0, 6, (n,)).float() * (2 * math.pi / 6)
    centre = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1) * 1.0
    return centre + torch.tensor([3.0, -2.0]) + 0.15 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(nz, 48), nn.ReLU(True),
            nn.Linear(48, 48), nn.ReLU(True),
            nn.Linear(48, 2),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 48), nn.LeakyReLU(0.2),
            nn.Linear(48, 48), nn.LeakyReLU(0.2),
            nn.Linear(48, 1),
        )

    def forward(self, x):
        return self.main(x).squeeze(1)


netG = Generator()
netD = Discriminator()
criterion = nn.BCEWithLogitsLoss()
optimizerD = optim.Adam(netD.parameters(), lr=lr_d, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=lr_g, betas=(0.5, 0.999))
fixed_noise = torch.randn(1000, nz)

for it in range(1, num_iters + 1):
    # (1) Update D: maximize log(D(x)) + log(1 - D(G(z)))
    optimizerD.zero_grad()
    real = sample_real(batch_size)
    label = torch.full((batch_size,), real_label)
    errD_real = criterion(netD(real), label)
    errD_real.backward()

    noise = torch.randn(batch_size, nz)
    fake = netG(noise)
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    errD = errD_real + errD_fake
    optimizerD.step()

    # (2) Update G: maximize log(D(G(z)))
    optimizerG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake), label)
    errG.backward()
    optimizerG.step()

    if it % 300 == 0:
        print(f"[{it}/{num_iters}] loss_D {errD.item():.4f} loss_G {errG.item():.4f}")

with torch.no_grad():
    out = netG(fixed_noise)
    real = sample_real(1000)
    gap = (out.mean(0) - real.mean(0)).norm().item()
    spread = (out.std(0) - real.std(0)).abs().mean().item()
print(f"mean gap {gap:.3f}  std gap {spread:.3f}")
