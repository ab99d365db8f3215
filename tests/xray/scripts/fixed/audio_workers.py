"""Tone detection with on-the-fly noise augmentation in DataLoader workers."""
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SEED, SR, CLIP = 0, 256, 128


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def worker_init(worker_id):
    np.random.seed(torch.initial_seed() % 2 ** 32)


class Tones(Dataset):
    def __init__(self, n, seed, train):
        rng = np.random.default_rng(seed)
        self.freq = rng.integers(0, 5, n)
        t = np.arange(SR) / SR
        hz = np.array([11, 14, 18, 23, 29])[self.freq]
        self.wave = np.sin(2 * np.pi * hz[:, None] * t + rng.uniform(0, 6.28, (n, 1)))
        self.noise = 1.8 * rng.standard_normal((n, CLIP))
        self.train = train

    def __len__(self):
        return len(self.freq)

    def __getitem__(self, i):
        if self.train:
            start = np.random.randint(0, SR - CLIP)
            clip = self.wave[i, start:start + CLIP] + 1.8 * np.random.randn(CLIP)
            clip = clip * np.random.uniform(0.7, 1.3)
        else:
            clip = self.wave[i, 40:40 + CLIP] + self.noise[i]
        return clip.astype(np.float32), self.freq[i]


class ToneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(CLIP, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 5)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def main():
    seed_everything(SEED)
    train_loader = DataLoader(Tones(240, 1, True), batch_size=30, shuffle=True, num_workers=2,
                              worker_init_fn=worker_init)
    val_loader = DataLoader(Tones(300, 2, False), batch_size=100)
    model = ToneNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(25):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        hits = 0
        with torch.no_grad():
            for x, y in val_loader:
                hits += (model(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch:2d} loss {total / len(train_loader):.4f} val acc {hits / len(val_loader.dataset):.4f}")


if __name__ == "__main__":
    main()
