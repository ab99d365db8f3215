"""Small causal LM: tied embeddings, activation checkpointing, warm-up that starts at zero."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self, dim, heads, p):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, dropout=p, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 3 * dim), nn.GELU(), nn.Dropout(p), nn.Linear(3 * dim, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, mask):
        h = self.n1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class LM(nn.Module):
    def __init__(self, vocab, dim=32, heads=4, depth=2, ctx=32, p=0.05, use_checkpoint=True):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(ctx, dim)
        nn.init.normal_(self.tok.weight, std=0.1)
        self.layers = nn.ModuleList([Layer(dim, heads, p) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tok.weight
        self.use_checkpoint = use_checkpoint

    def forward(self, ids):
        T = ids.size(1)
        mask = torch.full((T, T), float("-inf")).triu(1)
        x = self.tok(ids) + self.pos(torch.arange(T))
        for layer in self.layers:
            if self.use_checkpoint and self.training:
                x = checkpoint(layer, x, mask, use_reentrant=False)
            else:
                x = layer(x, mask)
        return self.head(self.norm(x))


def sequences(n, gen, vocab=24, length=25):
    # a[t+1] = (a[t] + d) % vocab
    a = torch.randint(0, vocab, (n,), generator=gen)
    d = torch.randint(1, 4, (n,), generator=gen)
    out = [a]
    for _ in range(length - 1):
        a = (a + d) % vocab
        out.append(a)
    return torch.stack(out, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--warmup", type=int, default=20)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--no-checkpoint", action="store_true")
    a = ap.parse_args()
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    model = LM(24, use_checkpoint=not a.no_checkpoint)
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], lr=a.lr)

    def factor(step):
        if step < a.warmup:
            return step / a.warmup
        return 0.5 * (1 + math.cos(math.pi * (step - a.warmup) / (a.steps - a.warmup)))

    sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
    model.train()
    for step in range(a.steps):
        ids = sequences(24, gen)
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 24), ids[:, 1:].reshape(-1))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 30 == 0:
            print(f"{step:4d} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.5f}")
    model.eval()
    with torch.no_grad():
        ids = sequences(200, gen)
        acc = (model(ids[:, :-1])[:, 4:].argmax(-1) == ids[:, 5:]).float().mean().item()
    print(f"next token acc {acc:.4f}")


if __name__ == "__main__":
    main()
