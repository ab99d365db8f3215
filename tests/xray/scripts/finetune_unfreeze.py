"""Two-stage fine-tuning: head only first, then the last backbone stage as well."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CFG = dict(stage1_epochs=2, stage2_epochs=3, lr_head=1e-2, lr_body=1e-3, bs=32, seed=3)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.layer1 = nn.Sequential(nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        return self.pool(self.layer1(self.stem(x))).flatten(1)


class Classifier(nn.Module):
    def __init__(self, backbone, n_cls):
        super().__init__()
        self.backbone = backbone
        self.fc = nn.Linear(24, n_cls)

    def forward(self, x):
        return self.fc(self.backbone(x))


def fake_pretrained():
    """plays the role of downloaded ImageNet weights"""
    g = torch.Generator().manual_seed(11)
    b = Backbone()
    with torch.no_grad():
        for p in b.parameters():
            if p.dim() > 1:
                p.copy_(torch.randn(p.shape, generator=g) * (2.0 / p[0].numel()) ** 0.5)
        b.train()
        for _ in range(20):
            b(torch.randn(64, 3, 16, 16, generator=g))
    return b


def make_split(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=g)
    x = torch.randn(n, 3, 16, 16, generator=g) * 0.8
    pat = torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(5))
    return TensorDataset(x + 0.6 * pat[y] + 0.5, y)


def set_frozen(module, frozen):
    for p in module.parameters():
        p.requires_grad = not frozen


def main():
    torch.manual_seed(CFG["seed"])
    tl = DataLoader(make_split(256, 0), batch_size=CFG["bs"], shuffle=True)
    vl = DataLoader(make_split(128, 1), batch_size=64)
    model = Classifier(fake_pretrained(), 3)
    set_frozen(model.backbone, True)
    crit = nn.CrossEntropyLoss()
    params = filter(lambda p: p.requires_grad, model.parameters())
    opt = torch.optim.AdamW(params, lr=CFG["lr_head"])

    for epoch in range(CFG["stage1_epochs"] + CFG["stage2_epochs"]):
        if epoch == CFG["stage1_epochs"]:
            print("unfreezing layer1")
            set_frozen(model.backbone.layer1, False)
        model.train()
        s = n = 0
        for x, y in tl:
            opt.zero_grad()
            loss = crit(model(x), y)
            loss.backward()
            opt.step()
            s += loss.item() * len(y)
            n += len(y)
        model.eval()
        ok = tot = vs = 0
        with torch.no_grad():
            for x, y in vl:
                o = model(x)
                vs += crit(o, y).item() * len(y)
                ok += (o.argmax(1) == y).sum().item()
                tot += len(y)
        print(f"ep {epoch} train {s / n:.4f} val {vs / tot:.4f} acc {ok / tot:.3f}")


main()
