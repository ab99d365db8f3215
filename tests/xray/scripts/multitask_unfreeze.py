"""Multi-task fine-tuning: frozen BatchNorm backbone, learned task weights, late unfreezing."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU())

    def forward(self, x):
        return self.top(self.stem(x))


class MultiTask(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.cls = nn.Linear(64, 3)
        self.reg = nn.Linear(64, 1)
        self.log_var = nn.Parameter(torch.zeros(2))
        self.backbone.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        for m in self.backbone.modules():   # pretrained statistics stay as they are
            if isinstance(m, nn.BatchNorm1d):
                m.eval()
        return self

    def forward(self, x):
        h = self.backbone(x)
        return self.cls(h), self.reg(h).squeeze(-1)

    def loss(self, x, y_cls, y_reg):
        logits, value = self(x)
        losses = torch.stack([F.cross_entropy(logits, y_cls), F.mse_loss(value, y_reg)])
        return (torch.exp(-self.log_var) * losses + 0.5 * self.log_var).sum(), losses.detach()


def pretrain(x, steps=200):
    backbone, dec = Backbone(), nn.Linear(64, 24)
    opt = torch.optim.Adam([*backbone.parameters(), *dec.parameters()], lr=3e-3)
    for _ in range(steps):
        xb = x[torch.randint(0, len(x), (64,))]
        opt.zero_grad()
        loss = F.mse_loss(dec(backbone(xb + 0.1 * torch.randn_like(xb))), xb)
        loss.backward()
        opt.step()
    print(f"last pretraining batch loss {loss.item():.4f}")
    return backbone


def make(n, w):
    x = torch.randn(n, 24)
    s = torch.tanh(x @ w)
    return TensorDataset(x, s[:, :3].argmax(1), s[:, 3] + 0.5 * s[:, 4] + 0.1 * torch.randn(n))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    hits, sq = 0, 0.0
    for x, c, r in loader:
        logits, value = model(x)
        hits += (logits.argmax(1) == c).sum().item()
        sq += F.mse_loss(value, r, reduction="sum").item()
    return hits / len(loader.dataset), sq / len(loader.dataset)


def main():
    torch.manual_seed(12)
    w = torch.randn(24, 5) / 3
    model = MultiTask(pretrain(torch.randn(2000, 24)))
    train = DataLoader(make(1200, w), batch_size=48, shuffle=True)
    val = DataLoader(make(600, w), batch_size=200)
    optimizer = torch.optim.AdamW([
        {"params": [*model.cls.parameters(), *model.reg.parameters()], "lr": 3e-3, "weight_decay": 1e-2},
        {"params": [model.log_var], "lr": 1e-2, "weight_decay": 0.0},
    ])
    scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1)

    for epoch in range(12):
        if epoch == 5:
            model.backbone.top.requires_grad_(True)
            optimizer.add_param_group({"params": list(model.backbone.top.parameters()), "lr": 1e-3})
            scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1)
        model.train()
        total = torch.zeros(2)
        for x, c, r in train:
            optimizer.zero_grad()
            loss, parts = model.loss(x, c, r)
            loss.backward()
            optimizer.step()
            total += parts * len(x)
        acc, mse = validate(model, val)
        scheduler.step(mse + 1 - acc)
        ce, se = (total / len(train.dataset)).tolist()
        print(f"epoch {epoch:2d} ce {ce:.4f} mse {se:.4f} val acc {acc:.4f} val mse {mse:.4f}")


if __name__ == "__main__":
    main()
