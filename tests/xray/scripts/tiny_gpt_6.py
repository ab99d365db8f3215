"""A very small character model on text sampled from a Markov chain."""
import math
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Conf:
    vocab: int = 24
    block: int = 16
    width: int = 48
    heads: int = 4
    layers: int = 2
    batch: int = 32
    epochs: int = 5
    peak: float = 8e-3
    floor: float = 1e-5
    decay: float = 0.3


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c.width)
        self.attn = nn.MultiheadAttention(c.width, c.heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(c.width)
        self.mlp = nn.Sequential(nn.Linear(c.width, 4 * c.width), nn.GELU(), nn.Linear(4 * c.width, c.width))

    def forward(self, h, mask):
        z = self.ln_1(h)
        h = h + self.attn(z, z, z, attn_mask=mask, need_weights=False)[0]
        return h + self.mlp(self.ln_2(h))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok = nn.Embedding(c.vocab, c.width)
        self.pos = nn.Parameter(torch.randn(c.block, c.width) * 0.02)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.ln_f = nn.LayerNorm(c.width)
        self.out = nn.Linear(c.width, c.vocab)
        self.register_buffer("mask", torch.triu(torch.ones(c.block, c.block, dtype=torch.bool), 1))

    def forward(self, ids):
        h = self.tok(ids) + self.pos
        for layer in self.layers:
            h = layer(h, self.mask)
        return self.out(self.ln_f(h))


def sample_text(n, vocab, gen):
    table = torch.softmax(2.5 * torch.randn(vocab, vocab, vocab, generator=gen), -1)
    out = [0, 1]
    u = torch.rand(n, generator=gen)
    cum = table.cumsum(-1)
    for i in range(n):
        out.append(min(int(torch.searchsorted(cum[out[-2], out[-1]], u[i])), vocab - 1))
    return torch.tensor(out)


def groups(model, decay):
    hot, cold = [], []
    for name, prm in model.named_parameters():
        (cold if name.endswith("bias") or "norm" in name else hot).append(prm)
    return [{"params": hot, "weight_decay": decay}, {"params": cold, "weight_decay": 0.0}]


def lr_at(step, total, c, warm=20):
    if step < warm:
        return c.peak * (step + 1) / warm
    f = min(1.0, (step - warm) / max(1, total - warm))
    return c.floor + 0.5 * (c.peak - c.floor) * (1 + math.cos(math.pi * f))


def main():
    c = Conf()
    torch.manual_seed(3)
    gen = torch.Generator().manual_seed(3)
    text = sample_text(14000, c.vocab, gen)
    rows = text[: (len(text) - 1) // c.block * c.block + 1]
    x, y = rows[:-1].view(-1, c.block), rows[1:].view(-1, c.block)
    cut = len(x) - 120
    model = GPT(c)
    opt = torch.optim.AdamW(groups(model, c.decay), lr=c.peak)
    total = c.epochs * cut
    step = 0
    for epoch in range(c.epochs):
        model.train()
        seen = 0.0
        for idx in torch.randperm(cut, generator=gen).split(c.batch):
            for grp in opt.param_groups:
                grp["lr"] = lr_at(step, total, c)
            loss = F.cross_entropy(model(x[idx]).flatten(0, 1), y[idx].flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            step += 1
            seen += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val = F.cross_entropy(model(x[cut:]).flatten(0, 1), y[cut:].flatten()).item()
        print(f"{epoch} step {step} lr {opt.param_groups[0]['lr']:.2e} loss {seen / cut:.4f} val {val:.4f}")
    gains = torch.cat([m.weight.detach() for m in model.modules() if isinstance(m, nn.LayerNorm)])
    print(f"mean gain of the layer norms {gains.mean().item():.3f}")


main()
