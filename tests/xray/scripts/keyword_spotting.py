"""Keyword spotting on synthetic spectrograms; a small prefetcher reads a few batches ahead."""
from collections import deque

import torch
import torch.nn as nn

MELS, FRAMES, WORDS = 10, 14, 5


def record(word, gen):
    spec = 0.9 * torch.randn(MELS, FRAMES, generator=gen)
    start = int(torch.randint(0, FRAMES - 6, (1,), generator=gen))
    for t in range(6):
        band = (word * 2 + t * (word % 2)) % MELS      # 단어마다 다른 주파수 궤적
        spec[band, start + t] += 2.0
    return spec


class Corpus:
    def __init__(self, n, seed):
        gen = torch.Generator().manual_seed(seed)
        self.words = torch.randint(0, WORDS, (n,), generator=gen)
        self.specs = [record(w, gen) for w in self.words.tolist()]


class Prefetcher:
    """Fills a buffer once instead of allocating memory for each batch."""

    def __init__(self, corpus, batch_size, ahead=4):
        self.corpus, self.batch_size, self.ahead = corpus, batch_size, ahead
        self.buffer = torch.empty(batch_size, MELS, FRAMES)

    def __len__(self):
        return len(self.corpus.words) // self.batch_size

    def _load(self, idx):
        for row, i in enumerate(idx.tolist()):
            self.buffer[row] = self.corpus.specs[i]
        return self.buffer, self.corpus.words[idx]

    def __iter__(self):
        queue = deque()
        order = torch.randperm(len(self.corpus.words))[:len(self) * self.batch_size]
        for idx in order.split(self.batch_size):
            queue.append(self._load(idx))
            if len(queue) == self.ahead:
                while queue:
                    yield queue.popleft()
        while queue:
            yield queue.popleft()


class KWS(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(MELS, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 32, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(32, WORDS)

    def forward(self, spec):
        return self.fc(self.conv(spec).amax(dim=2))


def main(epochs=8):
    torch.manual_seed(0)
    train, test = Corpus(480, 1), Corpus(250, 2)
    loader = Prefetcher(train, batch_size=24)
    model = KWS()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    loss_fn = nn.CrossEntropyLoss()
    x_test = torch.stack(test.specs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for spec, word in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(spec), word)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == test.words).float().mean().item()
        print(f"epoch {epoch} loss {total / len(loader):.4f} test acc {acc:.4f}")


if __name__ == "__main__":
    main()
