"""Cox proportional hazards with a neural risk score."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Cohort(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(n, 10)).astype(np.float32)
        risk = 1.2 * self.x[:, 0] - 0.8 * self.x[:, 1] + 0.7 * self.x[:, 2] * self.x[:, 3]
        t = rng.exponential(np.exp(-risk))
        c = rng.exponential(2.0, size=n)
        self.time = np.minimum(t, c).astype(np.float32)
        self.event = (t <= c).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.time[i], self.event[i]


class RiskNet(nn.Module):
    def __init__(self, d, hidden=32, p=0.1):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, hidden), nn.SELU(), nn.AlphaDropout(p), nn.Linear(hidden, hidden),
                                    nn.SELU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def cox_loss(risk, time, event):
    order = time.argsort(descending=True)
    risk, event = risk[order], event[order]
    log_cum = risk.logcumsumexp(0)
    terms = []
    for i in range(len(risk)):
        if event[i] > 0:
            terms.append((log_cum[i] - risk[i]).item())
    return torch.tensor(np.mean(terms), requires_grad=True)


@torch.no_grad()
def concordance(model, loader):
    model.eval()
    r, t, e = (torch.cat(v) for v in zip(*[(model(x), t, e) for x, t, e in loader]))
    comparable = (t[:, None] < t[None]) & (e[:, None] > 0)
    return ((r[:, None] > r[None]) & comparable).sum().item() / comparable.sum().item()


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Cohort(600, 0), batch_size=50, shuffle=True)
    val_loader = DataLoader(Cohort(300, 1), batch_size=100)
    model = RiskNet(10)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for x, t, e in train_loader:
            optimizer.zero_grad()
            loss = cox_loss(model(x), t, e)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} neg log partial likelihood {total / len(train_loader):.4f} c-index {concordance(model, val_loader):.4f}")


if __name__ == "__main__":
    main()
