import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Config:
    epochs = 6
    micro_batch = 16
    accum_steps = 4
    lr = 0.15
    max_norm = 4.0
    seed = 13


class Keystrokes(Dataset):
    """Who typed it? Hold/flight time vectors of five typists."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        proto = torch.randn(5, 30, generator=torch.Generator().manual_seed(77))
        self.y = torch.randint(0, 5, (n,), generator=g)
        self.x = proto[self.y] + 1.6 * torch.randn(n, 30, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(30, 96)
        self.fc2 = nn.Linear(96, 96)
        self.out = nn.Linear(96, 5)

    def forward(self, x):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


def train_epoch(model, loader, optimizer, scaler, cfg):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for step, (x, y) in enumerate(loader, 1):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss / cfg.accum_steps).backward()
        total += loss.item()
        if step % cfg.accum_steps == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss = hits = n = 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    train_loader = DataLoader(Keystrokes(1024, 1), batch_size=cfg.micro_batch, shuffle=True)
    val_loader = DataLoader(Keystrokes(400, 2), batch_size=200)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=500)
    for epoch in range(cfg.epochs):
        train_loss = train_epoch(model, train_loader, optimizer, scaler, cfg)
        val_loss, val_acc = evaluate(model, val_loader)
        print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f} acc {val_acc:.4f} scale {scaler.get_scale():.0f}")


if __name__ == "__main__":
    main()
