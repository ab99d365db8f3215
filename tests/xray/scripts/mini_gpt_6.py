"""A very small GPT on synthetic arithmetic progressions."""
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    vocab: int = 23
    block: int = 16
    dim: int = 32
    heads: int = 4
    layers: int = 2


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.n1, self.n2 = nn.LayerNorm(c.dim), nn.LayerNorm(c.dim)
        self.qkv = nn.Linear(c.dim, 3 * c.dim)
        self.proj = nn.Linear(c.dim, c.dim)
        self.mlp = nn.Sequential(nn.Linear(c.dim, 4 * c.dim), nn.GELU(), nn.Linear(4 * c.dim, c.dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok, self.pos = nn.Embedding(c.vocab, c.dim), nn.Embedding(c.block, c.dim)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.dim)
        self.head = nn.Linear(c.dim, c.vocab, bias=False)

    def forward(self, ids, labels=None):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for blk in self.blocks:
            x = blk(x)
        logits = self.head(self.norm(x))
        if labels is None:
            return logits, None
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return logits, loss


def groups(model, decay):
    mats = [p for n, p in model.named_parameters() if p.ndim == 2 and "tok" not in n and "pos" not in n]
    ids = {id(p) for p in mats}
    rest = [p for p in model.parameters() if id(p) not in ids]
    return [{"params": mats, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]


def progressions(n, c, gen):
    a = torch.randint(c.vocab, (n, 1), generator=gen)
    b = torch.randint(1, 5, (n, 1), generator=gen)
    return (a + b * torch.arange(c.block)) % c.vocab


def left_norm(params):
    return torch.stack([p.grad.norm() for p in params]).norm().item()


def main(steps=250):
    torch.manual_seed(70)
    c, gen = GPTConfig(), torch.Generator().manual_seed(71)
    model = GPT(c)
    opt = torch.optim.AdamW(groups(model, 0.05), lr=4e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, total_steps=steps)
    test, over = progressions(200, c, torch.Generator().manual_seed(72)), 0.0
    for step in range(steps):
        model.train()
        ids = progressions(24, c, gen)
        _, loss = model(ids, labels=ids)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(opt.param_groups[0]["params"], 0.5)
        over = max(over, left_norm(list(model.parameters())))
        opt.step()
        sched.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        nxt = model(test[:, :-1])[0][:, 3:].argmax(-1)
    acc = (nxt == test[:, 4:]).float().mean().item()
    print(f"next token accuracy {acc:.3f}, largest norm after clipping {over:.3f}")
    return loss.item(), acc, over


if __name__ == "__main__":
    result = main()
