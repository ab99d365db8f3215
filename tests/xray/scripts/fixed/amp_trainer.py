import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast
from torch.optim import SGD
from torch.utils.data import DataLoader, TensorDataset


def synthetic_images(n, seed):
    """8x8 pictures with a bright bar: class = direction and side (4 classes)"""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 1, 8, 8, generator=g) * 0.8
    for i, c in enumerate(y.tolist()):
        k = int(torch.randint(0, 4, (1,), generator=g)) + 4 * (c % 2)
        if c < 2:
            x[i, 0, k] += 1.2
        else:
            x[i, 0, :, k] += 1.2
    return TensorDataset(x, y)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 16, 4)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


class Trainer:
    def __init__(self, model, train_set, val_set, lr=0.15, batch_size=32):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=100)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = GradScaler("cpu", init_scale=1024.0)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            losses = []
            for images, labels in self.train_loader:
                losses.append(self.training_step(images, labels))
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} val acc {self.validate():.3f}")

    def training_step(self, images, labels):
        self.optimizer.zero_grad()
        with autocast("cpu", dtype=torch.float16):
            loss = self.criterion(self.model(images), labels)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        good = 0
        for images, labels in self.val_loader:
            good += (self.model(images).argmax(1) == labels).sum().item()
        return good / len(self.val_loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(ConvNet(), synthetic_images(320, 0), synthetic_images(300, 1)).fit(6)
