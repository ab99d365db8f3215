import random

import torch
from torch import nn

TAGS = ["<pad>", "NOUN", "VERB", "ADJ", "DET"]
LEXICON = {t: list(range(10 * i, 10 * i + 10)) for i, t in enumerate(TAGS) if i}


def sentences(n, seed):
    """단어 하나가 두 품사를 가질 수 있어서 앞 단어를 봐야 한다"""
    r = random.Random(seed)
    out = []
    for _ in range(n):
        words, tags = [], []
        for _ in range(r.choice([2, 3, 4, 5, 6, 14])):
            words.append(r.choice(LEXICON["DET"]))
            tags.append(4)
            if r.random() < 0.5:
                words.append(r.choice(LEXICON["ADJ"] + [15, 16]))
                tags.append(3)
            words.append(r.choice(LEXICON["NOUN"] + [25, 26]))
            tags.append(1)
            words.append(r.choice(LEXICON["VERB"] + [15, 16]))
            tags.append(2)
        out.append((words, tags))
    return out


def pad_batch(items):
    width = max(len(w) for w, _ in items)
    w = torch.zeros(len(items), width, dtype=torch.long)
    t = torch.zeros(len(items), width, dtype=torch.long)
    for i, (ws, ts) in enumerate(items):
        w[i, :len(ws)] = torch.tensor(ws)
        t[i, :len(ts)] = torch.tensor(ts)
    return w, t


class Tagger(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(60, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, w):
        return self.proj(self.lstm(self.embed(w))[0])


def chunks(data, size, rng=None):
    data = list(data)
    if rng:
        rng.shuffle(data)
    return [pad_batch(data[i:i + size]) for i in range(0, len(data), size)]


torch.manual_seed(9)
rng = random.Random(9)
train_data, dev_data = sentences(168, 1), sentences(90, 2)
model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
ACCUM = 4
for epoch in range(5):
    model.train()
    model.zero_grad()
    total = 0.0
    batches = chunks(train_data, 12, rng)
    for i, (w, t) in enumerate(batches):
        logits = model(w)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), t, ignore_index=0)
        (loss / ACCUM).backward()
        total += loss.item()
        if i % ACCUM == ACCUM - 1:
            optimizer.step()
            model.zero_grad()
    # dev accuracy
    model.eval()
    right = n = 0
    with torch.no_grad():
        for w, t in chunks(dev_data, 30):
            pred = model(w).argmax(-1)
            pred[w == 0] = 0
            right += (pred == t).sum().item()
            n += t.numel()
    print(f"epoch {epoch} batches {len(batches)} loss {total / len(batches):.4f} dev acc {right / n:.4f}")
