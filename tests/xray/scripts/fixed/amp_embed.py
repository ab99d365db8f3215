"""Half precision click model. The embedding table has its own optimizer and stays in float32."""
import argparse
import torch
from torch import nn
import torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=6)
ap.add_argument("--batch-size", type=int, default=100)
ap.add_argument("--lr-table", type=float, default=2.0)
ap.add_argument("--lr-net", type=float, default=0.1)
ap.add_argument("--init-scale", type=float, default=256.0)
opt = ap.parse_args([])

FIELDS, CARD = 6, 50


class Clicks(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.table = nn.Embedding(FIELDS * CARD, dim)
        nn.init.normal_(self.table.weight, std=0.1)
        self.net = nn.Sequential(nn.Linear(FIELDS * dim, 48), nn.ReLU(), nn.Linear(48, 1))
        self.register_buffer("shift", torch.arange(FIELDS) * CARD)

    def forward(self, ids):
        return self.net(self.table(ids + self.shift).flatten(1)).squeeze(1)


def traffic(n, gen, hidden):
    ids = torch.randint(0, CARD, (n, FIELDS), generator=gen)
    z = hidden.gather(0, ids).sum(1) + hidden[ids[:, 0], 0] * hidden[ids[:, 1], 1]
    return ids, (torch.sigmoid(2 * z) > torch.rand(n, generator=gen)).float()


class HalfEngine:
    def __init__(self, model, dense, table, scale):
        self.model, self.dense, self.table = model, dense, table
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale)

    def zero(self):
        self.dense.zero_grad()
        self.table.zero_grad()

    def apply(self):
        self.scaler.step(self.dense)
        self.scaler.step(self.table)
        self.scaler.update()

    def train(self, ids, y):
        self.zero()
        with torch.autocast("cpu", dtype=torch.float16):
            z = self.model(ids)
        loss = F.binary_cross_entropy_with_logits(z.float(), y)
        self.scaler.scale(loss).backward()
        self.apply()
        return loss.item()

    @torch.no_grad()
    def test(self, ids, y):
        self.model.eval()
        with torch.autocast("cpu", dtype=torch.float16):
            z = self.model(ids).float()
        self.model.train()
        pos, neg = z[y > 0.5], z[y < 0.5]
        auc = (pos[:, None] > neg[None, :]).float().mean().item()
        return F.binary_cross_entropy_with_logits(z, y).item(), auc


torch.manual_seed(23)
gen = torch.Generator().manual_seed(23)
hidden = torch.randn(CARD, FIELDS, generator=gen) * 0.7
ids, y = traffic(6000, gen, hidden)
tids, ty = traffic(1500, gen, hidden)
model = Clicks()
engine = HalfEngine(model, torch.optim.SGD(model.net.parameters(), lr=opt.lr_net, momentum=0.9),
                    torch.optim.SGD(model.table.parameters(), lr=opt.lr_table), opt.init_scale)
for ep in range(opt.epochs):
    tot = 0.0
    for ix in torch.randperm(len(y), generator=gen).split(opt.batch_size):
        tot += engine.train(ids[ix], y[ix]) * len(ix)
    bce, auc = engine.test(tids, ty)
    print(f"epoch {ep} train {tot / len(y):.4f} test {bce:.4f} auc {auc:.4f}")
