"""Fine-tuning a pretrained encoder on a new label set."""
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


class TinyNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(30, 80), nn.ReLU(), nn.Linear(80, 40), nn.ReLU())
        self.fc = nn.Linear(40, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def dataset(n, n_classes, seed):
    g = torch.Generator().manual_seed(seed)
    mix = torch.randn(30, 8, generator=torch.Generator().manual_seed(5))
    x = torch.randn(n, 30, generator=g)
    z = torch.tanh(x @ mix / 5)
    return TensorDataset(x, z[:, :n_classes].argmax(1))


def warmup_then_decay(warmup_steps, total_steps):
    def fn(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return max(0.0, (total_steps - step) / (total_steps - warmup_steps))
    return fn


def fit(model, optimizer, loader, epochs, scheduler=None):
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            running += loss.item() / len(loader)
        lr = optimizer.param_groups[0]["lr"]
        print(f"  epoch {epoch} loss {running:.4f} lr {lr:.2e}")


def main():
    torch.manual_seed(0)
    model = TinyNet(num_classes=3)
    print("pretraining (3 classes)")
    fit(model, torch.optim.Adam(model.parameters(), lr=2e-3), DataLoader(dataset(600, 3, 0), 60, shuffle=True), 2)

    print("fine-tuning (8 classes)")
    loader = DataLoader(dataset(800, 8, 1), batch_size=40, shuffle=True)
    epochs = 5
    model.fc = nn.Linear(40, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
    scheduler = LambdaLR(optimizer, warmup_then_decay(warmup_steps=10, total_steps=epochs * len(loader)))
    fit(model, optimizer, loader, epochs, scheduler)

    model.eval()
    x, y = dataset(400, 8, 2).tensors
    with torch.no_grad():
        print(f"test acc {(model(x).argmax(1) == y).float().mean().item():.4f}")


main()
