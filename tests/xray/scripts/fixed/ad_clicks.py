"""Click model: embeddings are frozen for one epoch, then everything trains."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(43)
MICRO, EPOCHS = 4, 9


class ClickNet(nn.Module):
    def __init__(self, users, items, d=16):
        super().__init__()
        self.user = nn.Embedding(users, d)
        self.item = nn.Embedding(items, d)
        self.mlp = nn.Sequential(nn.Linear(2 * d, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.user(u), self.item(i)], 1)).squeeze(1)


class Accumulator:
    def __init__(self, n):
        self.n, self.k = n, 0

    def backward(self, loss):
        (loss / self.n).backward()
        self.k += 1
        return self.k % self.n == 0


class Run:
    def __init__(self, net, steps):
        self.net, self.steps, self.done = net, steps, 0
        for p in [*net.user.parameters(), *net.item.parameters()]:
            p.requires_grad_(False)
        self.opt = torch.optim.SGD(net.mlp.parameters(), lr=2.0)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=steps)

    def unfreeze(self):
        for p in self.net.parameters():
            p.requires_grad_(True)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=2.0)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=self.steps - self.done)

    def step(self):
        self.opt.step()
        self.opt.zero_grad()
        self.sched.step()
        self.done += 1


u_vec, i_vec = torch.randn(40, 4), torch.randn(40, 4)
u, i = torch.randint(0, 40, (3000,)), torch.randint(0, 40, (3000,))
click = ((u_vec[u] * i_vec[i]).sum(1) + 0.5 * torch.randn(3000) > 0).float()
train = DataLoader(TensorDataset(u[:2400], i[:2400], click[:2400]), batch_size=25, shuffle=True)
hold = (u[2400:], i[2400:], click[2400:])

net = ClickNet(40, 40)
run = Run(net, steps=EPOCHS * len(train) // MICRO)
acc = Accumulator(MICRO)
assert len(train) % MICRO == 0

for epoch in range(EPOCHS):
    if epoch == 1:
        run.unfreeze()
    net.train()
    tot = 0.0
    for ub, ib, cb in train:
        loss = F.binary_cross_entropy_with_logits(net(ub, ib), cb)
        tot += loss.item() * len(cb)
        if acc.backward(loss):
            run.step()
    net.eval()
    with torch.no_grad():
        out = net(hold[0], hold[1])
        v = F.binary_cross_entropy_with_logits(out, hold[2]).item()
        a = ((out > 0).float() == hold[2]).float().mean().item()
    print(f"epoch {epoch} train {tot / 2400:.4f} holdout {v:.4f} acc {a:.4f} lr {run.opt.param_groups[0]['lr']:.4f}")
