import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

manualSeed = 999
torch.manual_seed(manualSeed)

nz, ngf, ndf = 16, 16, 16
batch_size = 32
num_iters = 60


def ring_images(n):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")
    r = (xx ** 2 + yy ** 2).sqrt()
    rad = torch.rand(n, 1, 1) * 0.5 + 0.3
    img = torch.exp(-((r - rad) ** 2) / 0.02) * 2 - 1
    return img.unsqueeze(1)


dataset = TensorDataset(ring_images(512))
dataloader = DataLoader(dataset, batch_size=batch_size, shuffle=True, drop_last=True)


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False))

    def forward(self, x):
        return self.main(x).view(-1)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
real_label, fake_label = torch.ones(batch_size), torch.zeros(batch_size)


def forever(loader):
    while True:
        yield from loader


batches = forever(dataloader)
for it in range(num_iters):
    (real,) = next(batches)
    noise = torch.randn(batch_size, nz, 1, 1)
    optimizerD.zero_grad()
    optimizerG.zero_grad()

    # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
    fake = netG(noise)
    errD_real = criterion(netD(real), real_label)
    errD_fake = criterion(netD(fake.detach()), fake_label)
    errD = errD_real + errD_fake
    errD.backward()
    optimizerD.step()

    # (2) update G: maximize log(D(G(z)))
    errG = criterion(netD(fake), real_label)
    errG.backward()
    optimizerG.step()
    if it % 10 == 9:
        gw = sum(p.abs().sum().item() for p in netG.parameters())
        print("[%d/%d] Loss_D: %.5f Loss_G: %.5f |G| %.5f" % (it + 1, num_iters, errD.item(), errG.item(), gw))
