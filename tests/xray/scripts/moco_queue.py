import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MoCo(nn.Module):
    """query / key encoder with a queue; the key encoder keeps BatchNorm in train mode as in the paper"""

    def __init__(self, dim=16, K=256, m=0.95, T=0.2):
        super().__init__()
        self.encoder_q = nn.Sequential(
            nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.m, self.T, self.K = m, T, K
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.mul_(self.m).add_(q, alpha=1 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        p, b = int(self.ptr), keys.size(0)
        assert self.K % b == 0
        self.queue[:, p:p + b] = keys.T
        self.ptr[0] = (p + b) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().detach()
        logits = torch.cat([pos, neg], 1) / self.T
        labels = torch.zeros(len(logits), dtype=torch.long)  # the positive is always column 0
        self._enqueue(k)
        return logits, labels


def noisy(x):
    return x + 0.25 * torch.randn_like(x)


def main():
    torch.manual_seed(4)
    base = torch.randn(10, 24)
    x = base[torch.randint(0, 10, (640,))] + 0.5 * torch.randn(640, 24)
    loader = DataLoader(TensorDataset(x), batch_size=64, shuffle=True, drop_last=True)
    model = MoCo()
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.SGD(trainable, lr=0.1, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=5)
    model.train()
    for epoch in range(5):
        s = n = top1 = 0
        for (xb,) in loader:
            logits, labels = model(noisy(xb), noisy(xb))
            loss = F.cross_entropy(logits, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            s += loss.item() * len(xb)
            n += len(xb)
            top1 += (logits.argmax(1) == 0).sum().item()
        sched.step()
        print(f"epoch {epoch} loss {s / n:.4f} top1 {top1 / n:.4f} lr {sched.get_last_lr()[0]:.4f}")


if __name__ == "__main__":
    main()
