"""WGAN-GP on a mixture of Gaussians: several critic updates for each generator update."""
import argparse

import torch
from torch import nn


def mixture(n):
    k = torch.randint(0, 8, (n,))
    ang = k * (6.28318 / 8)
    return torch.stack([ang.cos(), ang.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mixed)
    grad, = torch.autograd.grad(score.sum(), mixed, create_graph=True)
    return (grad.norm(2, dim=1) - 1).pow(2).mean()


def net(d_in, d_out, width=64):
    return nn.Sequential(nn.Linear(d_in, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, d_out))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=90)
    ap.add_argument("--n-critic", type=int, default=4)
    ap.add_argument("--gp", type=float, default=1.0)
    ap.add_argument("--latent", type=int, default=4)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    G, C = net(args.latent, 2), net(2, 1)
    g_opt = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.9))
    c_opt = torch.optim.Adam(C.parameters(), lr=2e-3, betas=(0.0, 0.9))
    for it in range(args.iters):
        for p in C.parameters():
            p.requires_grad_(True)
        for _ in range(args.n_critic):
            real = mixture(128)
            with torch.no_grad():
                fake = G(torch.randn(128, args.latent))
            c_loss = C(fake).mean() - C(real).mean()
            gp = gradient_penalty(C, real, fake)
            c_opt.zero_grad()
            (c_loss + args.gp * gp).backward()
            c_opt.step()
        # freeze the critic while the generator learns
        for p in C.parameters():
            p.requires_grad_(False)
        g_loss = -C(G(torch.randn(128, args.latent))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        if it % 30 == 29:
            print(f"iter {it + 1} critic {c_loss.item():.4f} gp {gp.item():.4f} gen {g_loss.item():.4f}")
    with torch.no_grad():
        r = G(torch.randn(1000, args.latent)).norm(dim=1)
    print(f"radius of samples {r.mean().item():.3f} +- {r.std().item():.3f} (data: 2.0)")


if __name__ == "__main__":
    main()
