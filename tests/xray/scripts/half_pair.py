import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, a, b):
        return (self.tower(a) - self.tower(b)).pow(2).sum(1)


class Margin(nn.Module):
    def __init__(self):
        super().__init__()
        self.margin = nn.Parameter(torch.tensor(1.0))

    def forward(self, dist, same):
        return (same * dist + (1 - same) * (self.margin - dist).clamp(min=0)).mean() + 0.01 * self.margin.pow(2)


def pairs(n):
    g = torch.Generator().manual_seed(2)
    a, b = torch.randn(n, 16, generator=g), torch.randn(n, 16, generator=g)
    same = (torch.rand(n, generator=g) > 0.5).float()
    b = torch.where(same[:, None] > 0, a + 0.2 * b, b)
    return TensorDataset(a, b, same)


def main():
    torch.manual_seed(0)
    net, criterion = Siamese(), Margin()
    opt = torch.optim.Adam([{"params": net.parameters()}, {"params": criterion.parameters(), "lr": 1e-4}], lr=2e-3)
    for epoch in range(5):
        for a, b, same in DataLoader(pairs(480), batch_size=40, shuffle=True):
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                dist = net(a, b)
            loss = criterion(dist.float(), same)
            loss.backward()
            clip_grad_norm_(criterion.parameters(), 1.0)
            opt.step()
        print(f"epoch {epoch} contrastive {loss.item():.4f}")


if __name__ == "__main__":
    main()
