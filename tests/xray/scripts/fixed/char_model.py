import torch
from torch import nn
import torch.nn.functional as F

A = 20   # alphabet


def text(length, seed):
    """second symbol depends on the first: a noisy permutation walk"""
    g = torch.Generator().manual_seed(seed)
    step = torch.randperm(A, generator=torch.Generator().manual_seed(2)).tolist()
    jump = (torch.rand(length, generator=g) < 0.25).tolist()
    anywhere = torch.randint(A, (length,), generator=g).tolist()
    out = [0]
    for j, w in zip(jump[1:], anywhere[1:]):
        out.append(w if j else step[out[-1]])
    return torch.tensor(out)


def windows(stream, size, length):
    """batches of (context, following) pairs cut at random places"""
    while True:
        at = torch.randint(len(stream) - length - 1, (size,))
        span = at[:, None] + torch.arange(length + 1)
        cut = stream[span]
        yield cut[:, :-1], cut[:, 1:]


class CharGRU(nn.Module):
    def __init__(self, emb=24, hid=48):
        super().__init__()
        self.emb = nn.Embedding(A, emb)
        self.gru = nn.GRU(emb, hid, batch_first=True)
        self.out = nn.Linear(hid, A)

    def forward(self, ids):
        h, _ = self.gru(self.emb(ids))
        return self.out(h)


def language_loss(logits, labels):
    pred, gold = logits, labels
    return F.cross_entropy(pred.flatten(0, 1), gold.flatten())


def held_out(model, stream, length=24):
    model.eval()
    rows = stream[: (len(stream) - 1) // length * length]
    ctx, nxt = rows.view(-1, length), stream[1: len(rows) + 1].view(-1, length)
    with torch.no_grad():
        logits = model(ctx)
        return language_loss(logits, nxt).item(), (logits.argmax(-1) == nxt).float().mean().item()


torch.manual_seed(60)
train, valid = text(8000, 1), text(2401, 2)
model = CharGRU()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
warm = torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, total_iters=20)
source = windows(train, 24, 24)
for step in range(1, 161):
    model.train()
    ctx, nxt = next(source)
    loss = language_loss(model(ctx), nxt)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    warm.step()
    if step % 40 == 0:
        vl, va = held_out(model, valid)
        print(f"step {step} train {loss.item():.4f} valid {vl:.4f} next-symbol acc {va:.3f}")
