import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Readings(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(n)
        self.x = torch.randn(n, 10, generator=g)

    def __len__(self):
        return self.x.size(0)

    def __getitem__(self, i):
        x = self.x[i]
        return {"x": x, "kind": (x[0] + x[1] > 0).long(), "level": x[2] * 0.5 + x[3]}


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 40), nn.GELU(), nn.LayerNorm(40))
        self.kind = nn.Linear(40, 2)
        self.level = nn.Linear(40, 1)

    def forward(self, x):
        h = self.trunk(x)
        return {"kind": self.kind(h), "level": self.level(h)[:, 0]}


class MultiTaskLoss(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights
        self.ce, self.huber = nn.CrossEntropyLoss(), nn.HuberLoss()

    def forward(self, out, batch):
        parts = [self.ce(out["kind"], batch["kind"]), self.huber(out["level"], batch["level"])]
        return torch.tensor([w * p for w, p in zip(self.weights, parts)], requires_grad=True).sum()


def main():
    torch.manual_seed(9)
    loader = DataLoader(Readings(480), batch_size=40, shuffle=True)
    model, objective = Tower(), MultiTaskLoss((1.0, 0.5))
    optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)
    for epoch in range(5):
        total = 0.0
        for batch in loader:
            optimizer.zero_grad()
            loss = objective(model(batch["x"]), batch)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}/5 - loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
