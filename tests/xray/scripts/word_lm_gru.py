import math

import numpy as np
import torch
from torch import nn

SEED, BS, BPTT, EPOCHS = 5, 16, 20, 16
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

V = 40
P = rng.dirichlet(np.full(V, 0.08), size=V)
stream = [0]
for _ in range(4799):
    stream.append(int(rng.choice(V, p=P[stream[-1]])))
stream = torch.tensor(stream)
entropy = -(P * np.log(P + 1e-12)).sum(1).mean()


def batchify(tokens, bs):
    n = len(tokens) // bs
    return tokens[:n * bs].view(bs, n)


class GRULM(nn.Module):
    def __init__(self, vocab, dim=96, p=0.5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(p)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.proj = nn.Linear(dim, vocab)

    def forward(self, x, h=None):
        out, h = self.gru(self.drop(self.embed(x)), h)
        return self.proj(self.drop(out)), h


def get_batch(source, i):
    n = min(BPTT, source.size(1) - 1 - i)
    inputs = source[:, i:i + n]
    targets = source[:, i:i + n]
    return inputs, targets


def evaluate(model, source, criterion):
    model.eval()
    total, count, h = 0.0, 0, None
    with torch.no_grad():
        for i in range(0, source.size(1) - 1, BPTT):
            x, t = get_batch(source, i)
            out, h = model(x, h)
            total += criterion(out.reshape(-1, V), t.reshape(-1)).item() * t.numel()
            count += t.numel()
    return total / count


train_data, val_data = batchify(stream[:2400], BS), batchify(stream[2400:], BS)
model = GRULM(V)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

model.train()
for epoch in range(EPOCHS):
    h, total, n = None, 0.0, 0
    for i in range(0, train_data.size(1) - 1, BPTT):
        x, t = get_batch(train_data, i)
        optimizer.zero_grad()
        out, h = model(x, h)
        loss = criterion(out.reshape(-1, V), t.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        h = h.detach()
        total += loss.item()
        n += 1
    val = evaluate(model, val_data, criterion)
    print(f"| epoch {epoch} | train {total / n:.3f} | valid {val:.3f} | ppl {math.exp(val):.2f} | chain entropy {entropy:.3f}")
