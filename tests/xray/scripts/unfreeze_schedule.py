import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class SpectraModel(nn.Module):
    """1-D conv autoencoder body with a classification head for NIR-like spectra."""

    def __init__(self, bands=64, n_classes=5):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 8, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(8, 16, 5, stride=2, padding=2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * bands // 4, 24), nn.Tanh())
        self.decoder = nn.Linear(24, bands)
        self.head = nn.Linear(24, n_classes)

    def reconstruct(self, x):
        return self.decoder(self.encoder(x))

    def forward(self, x):
        return self.head(self.encoder(x))


def synth(n, bands=64, n_classes=5):
    y = torch.randint(0, n_classes, (n,))
    t = torch.linspace(0, 1, bands)
    peak = 0.2 + 0.13 * y[:, None].float() + 0.05 * torch.randn(n, 1)
    base = torch.randn(n, 1) * t + 1.5 * torch.sin(6.28 * (t + torch.rand(n, 1)))
    x = base + 0.8 * torch.exp(-((t - peak) ** 2) / 0.002) + 0.15 * torch.randn(n, bands)
    return x[:, None], y


def train_one_epoch(model, loader, optimizer):
    model.train()
    loss_sum = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item()
    return loss_sum / len(loader)


@torch.inference_mode()
def accuracy(model, loader):
    model.eval()
    ok = n = 0
    for x, y in loader:
        ok += (model(x).argmax(1) == y).sum().item()
        n += y.numel()
    return ok / n


def main(epochs=14, unfreeze_at=3):
    torch.manual_seed(42)
    data = TensorDataset(*synth(700))
    train_set, val_set = random_split(data, [400, 300])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=100)
    model = SpectraModel()

    # stage 1: unsupervised reconstruction
    ae_opt = torch.optim.Adam([*model.encoder.parameters(), *model.decoder.parameters()], lr=2e-3)
    for _ in range(3):
        for x, _ in train_loader:
            loss = nn.functional.mse_loss(model.reconstruct(x), x[:, 0])
            ae_opt.zero_grad()
            loss.backward()
            ae_opt.step()

    # stage 2: head first, then everything
    for p in model.encoder.parameters():
        p.requires_grad = False
    optimizer = torch.optim.Adam([
        {"params": model.encoder.parameters(), "lr": 2e-3},
        {"params": model.head.parameters(), "lr": 5e-3},
    ])
    for epoch in range(epochs):
        if epoch == unfreeze_at:
            model.encoder.requires_grad = True
        train_loss = train_one_epoch(model, train_loader, optimizer)
        val_acc = accuracy(model, train_loader)
        print(f"epoch {epoch} train_loss {train_loss:.4f} val_acc {val_acc:.4f}")


if __name__ == "__main__":
    main()
