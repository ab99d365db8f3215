import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--n_epochs", type=int, default=6)
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--latent_dim", type=int, default=8)
parser.add_argument("--img_size", type=int, default=6)
opt = parser.parse_args()

torch.manual_seed(0)


def real_images(n):
    # 가로 막대 하나가 있는 6x6 그림
    img = -torch.ones(n, opt.img_size, opt.img_size)
    img[torch.arange(n), torch.randint(0, opt.img_size, (n,))] = 1.0
    return (img + 0.1 * torch.randn_like(img)).clamp(-1, 1).flatten(1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(opt.latent_dim, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, opt.img_size ** 2), nn.Tanh())

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(opt.img_size ** 2, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 32), nn.LeakyReLU(0.2),
            nn.Linear(32, 1))

    def forward(self, x):
        return self.model(x)


adversarial_loss = nn.BCEWithLogitsLoss()
generator, discriminator = Generator(), Discriminator()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=opt.lr, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=opt.lr, betas=(0.5, 0.999))
images = real_images(2048)

d_history = []
for epoch in range(opt.n_epochs):
    for imgs in images[torch.randperm(len(images))].split(opt.batch_size):
        valid = torch.ones(len(imgs), 1)
        fake = torch.zeros(len(imgs), 1)

        # ---- Generator ----
        optimizer_G.zero_grad()
        z = torch.randn(len(imgs), opt.latent_dim)
        gen_imgs = generator(z)
        g_loss = adversarial_loss(discriminator(gen_imgs), valid)
        g_loss.backward()
        optimizer_G.step()

        # ---- Discriminator ----
        real_loss = adversarial_loss(discriminator(imgs), valid)
        fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
        d_loss = (real_loss + fake_loss) / 2
        d_loss.backward()
        optimizer_D.step()
        optimizer_D.zero_grad()
        d_history.append(d_loss)
    print(f"[Epoch {epoch}/{opt.n_epochs}] [D loss: {d_loss.item():.4f}] [G loss: {g_loss.item():.4f}]")

with torch.no_grad():
    g = generator(torch.randn(500, opt.latent_dim)).view(500, opt.img_size, opt.img_size)
    lit = (g.mean(2) > 0.5).sum(1)
print("mean D loss", round(torch.stack(d_history).mean().item(), 4))
print(f"pictures with exactly one bar: {(lit == 1).float().mean().item():.3f}")
