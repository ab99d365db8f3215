"""Spot-instance trainer: is evicted in the middle and carries on from a snapshot in memory."""
import copy
import math

import torch
from torch import nn
import torch.nn.functional as F


class Evicted(Exception):
    pass


class Job:
    def __init__(self, data, steps=160, batch=40, peak=0.02, warm=20):
        self.x, self.y = data
        self.steps, self.batch, self.warm = steps, batch, warm
        torch.manual_seed(9)
        self.net = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=peak, betas=(0.9, 0.99))
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, self.shape)
        self.done = 0
        self.gen = torch.Generator().manual_seed(9)
        self.order = torch.empty(0, dtype=torch.long)
        self.tail = []

    def shape(self, k):
        if k < self.warm:
            return (k + 1) / self.warm
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (k - self.warm) / (self.steps - self.warm))))

    def snapshot(self):
        return copy.deepcopy({"net": self.net.state_dict(), "optim": self.opt.state_dict(),
                              "sched": self.sched.state_dict(), "done": self.done,
                              "order": self.order, "gen": self.gen.get_state()})

    def restore(self, snap):
        self.net.load_state_dict(snap["net"])
        self.opt.load_state_dict(snap["optim"])
        self.sched.load_state_dict(snap["sched"])
        for grp, lr in zip(self.opt.param_groups, self.sched.get_last_lr()):
            grp["lr"] = lr
        self.done, self.order = snap["done"], snap["order"]
        self.gen.set_state(snap["gen"])
        return self

    def pick(self):
        if len(self.order) < self.batch:
            self.order = torch.randperm(len(self.x), generator=self.gen)
        ix, self.order = self.order[:self.batch], self.order[self.batch:]
        return ix

    def run(self, evict_at=None):
        while self.done < self.steps:
            if self.done == evict_at:
                raise Evicted
            ix = self.pick()
            loss = F.cross_entropy(self.net(self.x[ix]), self.y[ix])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.sched.step()
            self.done += 1
            self.tail = (self.tail + [loss.item()])[-20:]
            if self.done % 20 == 0:
                lr = self.sched.get_last_lr()[0]
                print(f"step {self.done:3d} lr {lr:.5f} loss {sum(self.tail) / len(self.tail):.4f}")
        return self


def blobs(n, g):
    c = torch.randn(6, 18, generator=torch.Generator().manual_seed(40))
    y = torch.randint(0, 6, (n,), generator=g)
    return torch.tanh(c[y] + 1.3 * torch.randn(n, 18, generator=g)), y


g = torch.Generator().manual_seed(41)
train, test = blobs(1600, g), blobs(1500, g)
job = Job(train)
try:
    job.run(evict_at=120)
except Evicted:
    print("-- evicted, moving to another machine")
    job = Job(train).restore(job.snapshot()).run()
job.net.eval()
with torch.no_grad():
    z = job.net(test[0])
    print(f"end lr {job.opt.param_groups[0]['lr']:.6f} adam steps {int(job.opt.state[job.net[0].weight]['step'])}")
    print(f"test loss {F.cross_entropy(z, test[1]).item():.4f} acc {(z.argmax(1) == test[1]).float().mean().item():.4f}")
