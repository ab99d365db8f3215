"""BiGRU tagger over variable-length sentences (padded in the collate function)."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD = 0
VOCAB = 60
TAGS = 6  # 0 = <pad>, 1..5 real tags


class Sentences(Dataset):
    """A word's tag depends on the word and on the word before it."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            length = rng.choice([3, 4, 5, 6, 7, 8, 40])
            words = [rng.randint(1, VOCAB - 1) for _ in range(length)]
            tags = [1 + (w + (words[i - 1] if i else 0)) % 5 for i, w in enumerate(words)]
            self.items.append((torch.tensor(words), torch.tensor(tags)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, tags = zip(*batch)
    return (pad_sequence(words, batch_first=True, padding_value=PAD),
            pad_sequence(tags, batch_first=True, padding_value=PAD))


class Tagger(nn.Module):
    def __init__(self, emb=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, TAGS)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for words, tags in loader:
        optimizer.zero_grad()
        logits = model(words)
        loss = criterion(logits.view(-1, TAGS), tags.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        running += loss.item()
    return running / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = total = 0
    for words, tags in loader:
        pred = model(words).argmax(dim=-1)
        mask = tags != PAD
        correct += ((pred == tags) & mask).sum().item()
        total += mask.sum().item()
    return correct / total


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Sentences(640, 1), batch_size=32, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(Sentences(200, 2), batch_size=32, collate_fn=collate)
    model = Tagger()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(8):
        loss = train_epoch(model, train_loader, criterion, optimizer)
        acc = evaluate(model, dev_loader)
        print(f"epoch {epoch} train loss {loss:.4f} dev token accuracy {acc:.4f}")


if __name__ == "__main__":
    main()
