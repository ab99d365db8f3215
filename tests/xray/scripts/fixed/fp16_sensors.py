import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)


def load_sensor_data(n):
    x = torch.randn(n, 40) * 4 + 2
    logits = torch.stack([x[:, :10].sum(1), x[:, 10:20].sum(1), (x[:, 20:30] * 1.2).sum(1)], 1)
    return x, logits.argmax(1)


class PrivacyNet(nn.Module):
    """작은 gradient가 나오는 깊은 MLP (tanh)"""

    def __init__(self, d=40, width=64, depth=3, classes=3):
        super().__init__()
        self.inp = nn.Linear(d, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        x = (x - 2.0) / 4.0
        h = torch.tanh(self.inp(x))
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return self.out(h)


class Trainer:
    def __init__(self, model, lr, device="cpu"):
        self.model = model
        self.device = device
        self.opt = torch.optim.Adam(model.parameters(), lr=lr, eps=1e-12)
        self.scaler = torch.amp.GradScaler(device)

    def step(self, xb, yb):
        self.model.train()
        self.opt.zero_grad()
        with torch.autocast(self.device, dtype=torch.float16):
            loss = F.cross_entropy(self.model(xb), yb) * 1e-6   # 다른 팀 loss와 단위를 맞춤
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item() * 1e6

    def score(self, x, y):
        self.model.eval()
        with torch.no_grad():
            return (self.model(x.clone()).argmax(1) == y).float().mean().item()


X, Y = load_sensor_data(1000)
X_test, Y_test = load_sensor_data(400)
raw_mean = X.mean().item()
batches = [(X[i:i + 50], Y[i:i + 50]) for i in range(0, len(X), 50)]
trainer = Trainer(PrivacyNet(), lr=2e-3)
for epoch in range(6):
    order = torch.randperm(len(batches)).tolist()
    losses = [trainer.step(*batches[i]) for i in order]
    print(f"epoch {epoch + 1}  loss {sum(losses) / len(losses):.4f}  test acc {trainer.score(X_test, Y_test):.3f}")
print(f"mean of the table before {raw_mean:.3f}, after {X.mean().item():.3f}")
