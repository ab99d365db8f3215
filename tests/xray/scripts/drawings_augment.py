"""Image classification, numpy augmentation in the Dataset, two loader workers."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 12


def draw(label, rng):
    img = rng.normal(0, 0.2, (SIZE, SIZE)).astype(np.float32)
    c = SIZE // 2
    if label == 0:
        img[c - 3:c + 3, c] += 1
    elif label == 1:
        img[c, c - 3:c + 3] += 1
    else:
        img[c - 2:c + 2, c - 2] += 1
        img[c + 1, c - 2:c + 2] += 1
    return img


class Drawings(Dataset):
    def __init__(self, n, train=True, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 3, n)
        self.images = [draw(k, rng) for k in self.labels]
        self.train = train
        self.rng = np.random.default_rng(seed + 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        img = self.images[idx]
        if self.train:
            dy, dx = self.rng.integers(-4, 5, 2)
            img = np.roll(img, (dy, dx), axis=(0, 1))
            img = img + self.rng.normal(0, 0.2, img.shape).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(img))[None], int(self.labels[idx])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 9, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def shifted_test(model, n=240):
    rng = np.random.default_rng(123)
    labels = rng.integers(0, 3, n)
    imgs = np.stack([np.roll(draw(k, rng), rng.integers(-4, 5, 2), axis=(0, 1)) for k in labels])
    model.eval()
    with torch.no_grad():
        out = model(torch.from_numpy(imgs)[:, None])
    return (out.argmax(1).numpy() == labels).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Drawings(200), batch_size=20, shuffle=True, num_workers=2)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
    for epoch in range(12):
        model.train()
        losses = []
        for img, lab in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(img), lab)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {np.mean(losses):.4f} shifted test acc {shifted_test(model):.4f}")
