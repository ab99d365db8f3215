"""Mixed-precision training loop with gradient clipping (device-agnostic)."""
import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset, random_split

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
amp_dtype = torch.float16 if device.type == "cuda" else torch.bfloat16


def get_data(n=2400):
    g = torch.Generator().manual_seed(21)
    x = torch.rand(n, 6, generator=g) * 2 - 1
    y = torch.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 3] ** 2
    y = y + 0.05 * torch.randn(n, generator=g)
    ds = TensorDataset(x, y.unsqueeze(1))
    return random_split(ds, [2000, n - 2000], generator=g)


class Regressor(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(6, width), nn.GELU(),
            nn.Linear(width, width), nn.GELU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.net(x)


def train_one_epoch(model, loader, optimizer, scaler, loss_fn, max_norm):
    model.train()
    total, count = 0.0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad(set_to_none=True)
        with autocast(device_type=device.type, dtype=amp_dtype):
            pred = model(x)
        loss = loss_fn(pred.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item() * x.size(0)
        count += x.size(0)
    return total / count


def validate(model, loader, loss_fn):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            total += loss_fn(model(x), y).item() * x.size(0)
            count += x.size(0)
    return total / count


def main():
    torch.manual_seed(21)
    train_set, val_set = get_data()
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=100)
    model = Regressor().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.5)
    scaler = GradScaler(device.type)
    loss_fn = nn.MSELoss()
    for epoch in range(12):
        train_loss = train_one_epoch(model, train_loader, optimizer, scaler, loss_fn, 1.0)
        val_loss = validate(model, val_loader, loss_fn)
        scheduler.step()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:2d} train {train_loss:.5f} val {val_loss:.5f}")


if __name__ == "__main__":
    main()
