"""BiGRU part-of-speech tagger on synthetic sentences, gradients accumulated over 3 batches."""
import random
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(1)
random.seed(1)
PAD = 0
VOCAB, TAGS = 60, 6
ACCUM = 3
TAG_OF = [random.randint(1, TAGS - 1) for _ in range(VOCAB)]


def sentence():
    n = random.randint(4, 18)
    words = [random.randint(1, VOCAB - 1) for _ in range(n)]
    tags = []
    for i, w in enumerate(words):
        t = TAG_OF[w]
        if i and words[i - 1] % 7 == 0:
            t = t % (TAGS - 1) + 1
        tags.append(t)
    return torch.tensor(words), torch.tensor(tags)


def collate(items):
    ws, ts = zip(*items)
    return pad_sequence(ws, batch_first=True, padding_value=PAD), pad_sequence(ts, batch_first=True, padding_value=PAD)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 24, padding_idx=PAD)
        self.rnn = nn.GRU(24, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, TAGS)

    def forward(self, w):
        return self.out(self.rnn(self.emb(w))[0])


def groups(loader, k):
    """Batches in groups of k."""
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == k:
            yield group
            group = []
    if group:
        yield group


train = [sentence() for _ in range(320)]
dev = [sentence() for _ in range(96)]
train_loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
dev_loader = DataLoader(dev, batch_size=32, collate_fn=collate)

model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=8e-3)
ce = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")

for epoch in range(12):
    model.train()
    loss_sum, tok, batches = 0.0, 0, 0
    for group in groups(train_loader, ACCUM):
        n_tok = sum((t != PAD).sum().item() for _, t in group)
        opt.zero_grad()
        for w, t in group:
            loss = ce(model(w).flatten(0, 1), t.flatten())
            (loss / n_tok).backward()
            loss_sum += loss.item()
            batches += 1
        opt.step()
        tok += n_tok

    model.eval()
    good = count = 0
    with torch.no_grad():
        for w, t in dev_loader:
            guess = model(w).argmax(-1)
            real = t != PAD
            good += (guess == t)[real].sum().item()
            count += real.sum().item()
    print(f"epoch {epoch} loss {loss_sum / tok:.4f} dev acc {good / count:.4f} batches {batches}")
