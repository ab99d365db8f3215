"""Review rating with a Kim-style text CNN."""
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

GOOD = "great lovely superb crisp fast sturdy charming worth".split()
BAD = "awful broken slow noisy flimsy dull refund waste".split()
FILL = "the a it was and with box after my phone case day when very this they".split()
NOT = ["not", "never"]
itos = ["<pad>"] + GOOD + BAD + FILL + NOT
stoi = {w: i for i, w in enumerate(itos)}
MAXLEN = 20


def fix_seed(seed=2024):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = [self.make(rng) for _ in range(n)]

    @staticmethod
    def make(rng):
        score, words = 0, []
        for _ in range(rng.randint(2, 5)):
            good = rng.random() < 0.5
            neg = rng.random() < 0.3
            words += rng.choices(FILL, k=rng.randint(0, 2)) + ([rng.choice(NOT)] if neg else [])
            words.append(rng.choice(GOOD if good else BAD))
            score += 1 if good != neg else -1
        label = 0 if score < 0 else (1 if score == 0 else 2)
        ids = [stoi[w] for w in words][:MAXLEN]
        return ids + [0] * (MAXLEN - len(ids)), label

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids, label = self.rows[i]
        return torch.tensor(ids), label


class TextCNN(nn.Module):
    def __init__(self, dim=24, channels=24):
        super().__init__()
        self.emb = nn.Embedding(len(itos), dim, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(dim, channels, k) for k in (2, 3))
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(2 * channels, 3)

    def forward(self, ids):
        e = self.emb(ids).transpose(1, 2)
        feats = torch.cat([torch.relu(c(e)).sum(-1) / 4 for c in self.convs], 1)
        return F.log_softmax(self.fc(self.drop(feats)), dim=1)


def train(model, loader, optimizer):
    model.train()
    total, first = 0.0, None
    for ids, label in loader:
        first = int(ids.sum()) if first is None else first
        optimizer.zero_grad()
        loss = F.nll_loss(model(ids), label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader), first


@torch.no_grad()
def test(model, loader):
    model.eval()
    correct = 0
    for ids, label in loader:
        correct += (model(ids).argmax(dim=1) == label).sum().item()
    return correct / len(loader.dataset)


fix_seed()
train_loader = DataLoader(Reviews(800, 1), batch_size=32, shuffle=True)
test_loader = DataLoader(Reviews(300, 2), batch_size=100)
model = TextCNN()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(1, 9):
    loss, first = train(model, train_loader, optimizer)
    print(f"Epoch {epoch} loss {loss:.4f} test acc {test(model, test_loader):.4f} (first batch checksum {first})")
