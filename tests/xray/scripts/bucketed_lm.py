"""Masked token-sum loss over length buckets, divided by the real tokens; loader order fixed by a sampler."""
import math
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler

PAD, BOS, VOCAB = 0, 1, 24


class Melodies(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            note, step, seq = rng.randrange(2, VOCAB), rng.choice([1, 2, 5]), []
            for _ in range(rng.randint(4, 24)):
                seq.append(note)
                note = 2 + (note - 2 + (step if rng.random() < 0.85 else -step)) % (VOCAB - 2)
            self.items.append([BOS] + seq)
        self.items.sort(key=len)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return torch.tensor(self.items[i])


class BucketSampler(Sampler):
    """the data are sorted by length; batches are consecutive, their order is shuffled"""

    def __init__(self, n, batch_size):
        self.batches = [list(range(i, min(i + batch_size, n))) for i in range(0, n, batch_size)]

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        for k in torch.randperm(len(self.batches)).tolist():
            yield self.batches[k]


class Model(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, x):
        return self.out(self.drop(self.rnn(self.emb(x))[0]))


def token_loss(model, seq):
    logits, target = model(seq[:, :-1]), seq[:, 1:]
    mask = target != PAD
    nll = nn.functional.cross_entropy(logits.transpose(1, 2), target, reduction="none")
    hits = ((logits.argmax(-1) == target) & mask).sum().item()
    return (nll * mask).sum(), mask.sum(), hits


def run(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, tokens, hits = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for seq in loader:
            loss, n, h = token_loss(model, seq)
            if optimizer is not None:
                optimizer.zero_grad()
                (loss / n).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            total += loss.item()
            tokens += n.item()
            hits += h
    return total / tokens, hits / tokens


torch.manual_seed(1)
collate = lambda b: pad_sequence(b, batch_first=True, padding_value=PAD)
train_set, val_set = Melodies(800, 0), Melodies(200, 1)
train_loader = DataLoader(train_set, batch_sampler=BucketSampler(len(train_set), 32), collate_fn=collate)
val_loader = DataLoader(val_set, batch_size=64, collate_fn=collate)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    tl, _ = run(model, train_loader, optimizer)
    vl, va = run(model, val_loader)
    print(f"epoch {epoch} train nll {tl:.4f} val nll {vl:.4f} ppl {math.exp(vl):.2f} acc {va:.4f}")
