"""Captions for tiny scenes: encoder and decoder with an optimizer each, an auxiliary loss with its own backward."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_value_

COLORS, SHAPES, START, END = 3, 3, 6, 7


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(12 * 16, dim)
        self.color_head = nn.Linear(dim, COLORS)

    def forward(self, img):
        z = torch.tanh(self.fc(self.conv(img)))
        return z, self.color_head(z)


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.emb = nn.Embedding(8, 16)
        self.gru = nn.GRU(16, dim, batch_first=True)
        self.out = nn.Linear(dim, 8)

    def forward(self, z, tokens):
        h, _ = self.gru(self.emb(tokens), z[None])
        return self.out(h)


def scenes(n, gen):
    color = torch.randint(0, COLORS, (n,), generator=gen)
    shape = torch.randint(0, SHAPES, (n,), generator=gen)
    img = 0.4 * torch.randn(n, 3, 8, 8, generator=gen)
    for i in range(n):
        c, s = color[i].item(), shape[i].item()
        if s == 0:
            img[i, c, 3:5, :] += 1
        elif s == 1:
            img[i, c, :, 3:5] += 1
        else:
            img[i, c].diagonal().add_(1.5)
    caption = torch.stack([torch.full((n,), START), color, shape + COLORS, torch.full((n,), END)], 1)
    return img, color, caption


def main(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    encoder, decoder = Encoder(args.dim), Decoder(args.dim)
    enc_opt = torch.optim.Adam(encoder.parameters(), lr=args.enc_lr)
    dec_opt = torch.optim.Adam(decoder.parameters(), lr=args.dec_lr)
    for step in range(args.steps):
        img, color, cap = scenes(args.batch, gen)
        z, color_logits = encoder(img)
        logits = decoder(z, cap[:, :-1])
        caption_loss = F.cross_entropy(logits.flatten(0, 1), cap[:, 1:].flatten())
        aux_loss = args.aux * F.cross_entropy(color_logits, color)

        enc_opt.zero_grad()
        dec_opt.zero_grad()
        aux_loss.backward(retain_graph=True)
        caption_loss.backward()
        clip_grad_value_(encoder.parameters(), 0.5)
        clip_grad_value_(decoder.parameters(), 0.5)
        dec_opt.step()
        enc_opt.step()
        if step % 30 == 29:
            print(f"step {step + 1} caption {caption_loss.item():.4f} aux {aux_loss.item():.4f}")

    encoder.eval()
    decoder.eval()
    with torch.inference_mode():
        img, _, cap = scenes(300, gen)
        z, _ = encoder(img)
        words = decoder(z, cap[:, :-1]).argmax(-1)
        print(f"whole captions right: {(words == cap[:, 1:]).all(1).float().mean().item():.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--dim", type=int, default=32)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--enc-lr", type=float, default=3e-3)
    p.add_argument("--dec-lr", type=float, default=5e-3)
    p.add_argument("--aux", type=float, default=0.3)
    p.add_argument("--seed", type=int, default=0)
    main(p.parse_args())
