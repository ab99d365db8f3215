import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.ff(self.norm(x))


def train(model, loader, accum=2, epochs=5):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    scaler = torch.amp.GradScaler("cpu", enabled=True)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for k, (x, y) in enumerate(loader, start=1):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = model(x)
                loss = loss_fn(out.float(), y) / accum
            scaler.scale(loss).backward()
            if k % accum == 0:
                scaler.unscale_(optimizer)
                for p in model.parameters():
                    p.grad.div_(accum)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        print(f"epoch {epoch} loss {loss.item() * accum:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(512, 16)
    y = (x[:, :8].sum(1) > x[:, 8:].sum(1)).long()
    model = nn.Sequential(nn.Linear(16, 32), Block(32), Block(32), nn.Linear(32, 2))
    train(model, DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True, drop_last=True))
