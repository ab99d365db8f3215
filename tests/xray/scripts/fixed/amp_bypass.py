import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

hp = {"epochs": 6, "batch_size": 40, "lr": 0.1, "momentum": 0.9, "wd": 1e-4, "clip": None}


def texture(n, seed, size=16):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    i = torch.arange(size, dtype=torch.float32)
    rr, cc = torch.meshgrid(i, i, indexing="ij")
    ang = y.float() * 3.14159 / 4 + 0.15 * torch.randn(n, generator=g)
    phase = 6.28 * torch.rand(n, 1, 1, generator=g)
    wave = torch.sin(1.3 * (rr * ang.cos()[:, None, None] + cc * ang.sin()[:, None, None]) + phase)
    return (wave + 0.9 * torch.randn(n, size, size, generator=g))[:, None], y


class TextureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 5, stride=2, padding=2)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.head(x.mean((2, 3)))


class AmpTrainer:
    def __init__(self, model, hp):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=hp["lr"], momentum=hp["momentum"], weight_decay=hp["wd"])
        self.scheduler = CosineAnnealingLR(self.optimizer, T_max=hp["epochs"])
        self.scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
        self.criterion = nn.CrossEntropyLoss()

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = self.criterion(self.model(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    def fit(self, loader, val_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            losses = []
            for x, y in loader:
                losses.append(self.step(x, y))
            self.scheduler.step()
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} val acc {self.accuracy(val_loader):.4f} "
                  f"lr {self.optimizer.param_groups[0]['lr']:.5f}")

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
        return hits / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(1)
    train_loader = DataLoader(TensorDataset(*texture(600, 0)), batch_size=hp["batch_size"], shuffle=True)
    val_loader = DataLoader(TensorDataset(*texture(200, 1)), batch_size=100)
    AmpTrainer(TextureNet(), hp).fit(train_loader, val_loader, hp["epochs"])
