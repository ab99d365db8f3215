"""Small conv classifier, a lower rate for the body than for the head."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(33)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(3, 12, 5), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(12, 24, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        z = self.head(self.body(x))
        return torch.log_softmax(z, dim=1)


def count(params):
    return sum(p.numel() for p in params)


def make_optimizer(model, lr):
    body = list(model.body.parameters())
    head = list(model.head.parameters())
    print(f"body: {count(body)} numbers at lr {lr / 2:g}")
    return torch.optim.SGD([{"params": body, "lr": lr / 2}, {"params": head}], lr=lr, momentum=0.9)


def motions(n):
    y = torch.randint(0, 4, (n,))
    t = torch.arange(40).float()
    f = torch.tensor([0.2, 0.45, 0.8, 1.3])[y]
    ph = 6.28 * torch.rand(n, 3, 1)
    return TensorDataset(torch.sin(f[:, None, None] * t + ph) + 0.9 * torch.randn(n, 3, 40), y)


def main():
    train_dl = DataLoader(motions(640), batch_size=32, shuffle=True)
    test_dl = DataLoader(motions(320), batch_size=80)
    model = Classifier()
    nll = nn.NLLLoss()
    opt = make_optimizer(model, lr=0.05)
    for epoch in range(8):
        model.train()
        tot = 0.0
        for x, y in train_dl:
            opt.zero_grad()
            loss = nll(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            tot += loss.item() * len(y)
        model.eval()
        hit = 0
        with torch.no_grad():
            for x, y in test_dl:
                hit += (model(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {tot / 640:.4f} test acc {hit / 320:.4f}")


main()
