"""Momentum contrast with a negative queue, then a linear probe on frozen features."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, dim_in=32, dim_out=16, queue=512, momentum=0.99, temperature=0.2):
        super().__init__()
        self.encoder_q = nn.Sequential(nn.Linear(dim_in, 64), nn.ReLU(), nn.Linear(64, dim_out))
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.m = momentum
        self.t = temperature
        self.register_buffer("queue", F.normalize(torch.randn(queue, dim_out), dim=1))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def _momentum_update(self):
        for pq, pk in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            pk.data = pk.data * self.m + pq.data * (1.0 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        i, n = int(self.ptr), keys.size(0)
        self.queue[i:i + n] = keys
        self.ptr.fill_((i + n) % self.queue.size(0))

    def forward(self, view_q, view_k):
        q = F.normalize(self.encoder_q(view_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(view_k), dim=1)
        pos = (q * k).sum(dim=1, keepdim=True)
        neg = q @ self.queue.clone().t()
        logits = torch.cat([pos, neg], dim=1) / self.t
        self._enqueue(k)
        return logits, torch.zeros(q.size(0), dtype=torch.long)


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.3 * torch.randn_like(x)


def probe(encoder, x, y, x_test, y_test):
    encoder.eval()
    with torch.no_grad():
        f, f_test = encoder(x), encoder(x_test)
    mean, std = f.mean(0), f.std(0) + 1e-6
    f, f_test = (f - mean) / std, (f_test - mean) / std
    clf = nn.Linear(f.size(1), 6)
    opt = torch.optim.Adam(clf.parameters(), lr=0.05)
    for _ in range(100):
        opt.zero_grad()
        F.cross_entropy(clf(f), y).backward()
        opt.step()
    with torch.no_grad():
        return (clf(f_test).argmax(1) == y_test).float().mean().item()


torch.manual_seed(1)
centres = 1.5 * torch.randn(6, 32)
labels = torch.randint(0, 6, (2560,))
x = centres[labels] + torch.randn(2560, 32)
x, labels, x_test, y_test = x[:2048], labels[:2048], x[2048:], labels[2048:]

model = MoCo()
optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.06, momentum=0.9, weight_decay=1e-4)
epochs = 12
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(64):
        logits, target = model(augment(x[idx]), augment(x[idx]))
        loss = F.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    scheduler.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} InfoNCE {total / len(x):.4f}")
print(f"linear probe accuracy {probe(model.encoder_q, x[:200], labels[:200], x_test, y_test):.4f}")
