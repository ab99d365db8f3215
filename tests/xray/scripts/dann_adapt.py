"""Domain adversarial training with a gradient reversal layer on a frozen feature extractor."""
import math
import torch
import torch.nn as nn
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.adapter = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.cls = nn.Linear(32, 3)
        self.dom = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
        self.backbone.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()  # keep the pretrained statistics
        return self

    def features(self, x):
        with torch.no_grad():
            h = self.backbone(x)
        return self.adapter(h)


def domain(n, shift):
    w = torch.linspace(-1, 1, 30).view(10, 3)
    z = torch.randn(n, 10)
    return TensorDataset(z + shift, (z @ w + 0.3 * torch.randn(n, 3)).argmax(1))


source, target = domain(480, 0.0), domain(480, 0.6)
src_dl = DataLoader(source, batch_size=48, shuffle=True, drop_last=True)
tgt_dl = DataLoader(target, batch_size=48, shuffle=True, drop_last=True)
model = DANN()
# "pretrained" backbone statistics
model.backbone[1].train()
with torch.no_grad():
    for xb, _ in src_dl:
        model.backbone(xb)
model.train()

optimizer = torch.optim.SGD([
    {"params": model.adapter.parameters(), "lr": 0.1},
    {"params": list(model.cls.parameters()) + list(model.dom.parameters()), "lr": 0.1},
], momentum=0.9)
decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: (1 + 10 * s / 40) ** -0.75)
ce = nn.CrossEntropyLoss()

step = 0
for epoch in range(4):
    model.train()
    log = torch.zeros(3)
    for (xs, ys), (xt, _) in zip(src_dl, tgt_dl):  # target labels are not used
        lam = 2 / (1 + math.exp(-10 * step / 40)) - 1
        fs, ft = model.features(xs), model.features(xt)
        loss_cls = ce(model.cls(fs), ys)
        loss_s = ce(model.dom(GradReverse.apply(fs, lam)), torch.zeros(len(fs), dtype=torch.long))
        loss_t = ce(model.dom(GradReverse.apply(ft, lam)), torch.ones(len(ft), dtype=torch.long))
        loss = loss_cls + loss_s + loss_t
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()  # per batch: the lambda counts updates
        step += 1
        log += torch.tensor([loss_cls.item(), loss_s.item(), loss_t.item()])
    model.eval()
    with torch.no_grad():
        xt, yt = target.tensors
        acc = (model.cls(model.features(xt)).argmax(1) == yt).float().mean().item()
    print("epoch %d cls %.4f dom_s %.4f dom_t %.4f target acc %.4f" % (epoch, *(log / len(src_dl)).tolist(), acc))
