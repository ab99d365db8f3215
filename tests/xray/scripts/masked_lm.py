# 마스크드 언어 모델: 입력과 정답의 위치가 같다 (시프트 없음이 맞다).
import torch
from torch import nn
import torch.nn.functional as F

V, MASK, L, D = 18, 18, 14, 40
IGNORE = -100


def sentences(n, gen):
    a = torch.randint(V, (n, 1), generator=gen)
    d = torch.randint(1, 4, (n, 1), generator=gen)
    return (a + d * torch.arange(L)) % V


def corrupt(ids, gen, rate=0.2):
    chosen = torch.rand(ids.shape, generator=gen) < rate
    return ids.masked_fill(chosen, MASK), torch.where(chosen, ids, IGNORE)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V + 1, D)
        self.pos = nn.Parameter(torch.randn(L, D) * 0.02)
        self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))
        self.ff = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, 96), nn.GELU(), nn.Linear(96, D))
        self.head = nn.Linear(D, V)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        x = x + self.o(F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x)))
        return self.head(x + self.ff(x))


def lm_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)


torch.manual_seed(3)
gen = torch.Generator().manual_seed(4)
net = Encoder()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min((i + 1) / 20, (200 - i) / 180))
held = corrupt(sentences(200, torch.Generator().manual_seed(5)), torch.Generator().manual_seed(6))

for step in range(200):
    net.train()
    x, y = corrupt(sentences(24, gen), gen)
    loss = lm_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    plan.step()
    if step % 40 == 39:
        net.eval()
        with torch.no_grad():
            out = net(held[0])
            keep = held[1] != IGNORE
            acc = (out.argmax(-1)[keep] == held[1][keep]).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} held {lm_loss(out, held[1]).item():.3f} masked acc {acc:.3f}")
