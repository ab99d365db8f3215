# lesson4 손다인
import copy
import math
import torch
import torch.nn as nn
from itertools import islice


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.backup = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.backup[p] = p.data.clone()
                e = p.grad if not group["adaptive"] else p.grad * p ** 2
                p.add_(e, alpha=group["rho"])
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.backup.items():
            p.copy_(w)
        self.backup.clear()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups


def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses = []
    it = iter(micro_batches)
    sam.zero_grad()
    while True:
        window = list(islice(it, accum_steps))
        if len(window) < accum_steps:
            break
        total = 0.0
        for x, y in window:
            l = loss_fn(model(x), y)
            (l / accum_steps).backward()
            total += l.item()
        sam.first_step(zero_grad=True)
        for x, y in window:
            (loss_fn(model(x), y) / accum_steps).backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(total)
    return losses


def sharpness(model, loss_fn, xb, yb, *, rho):
    ps = [p for p in model.parameters() if p.requires_grad]
    w = [p.detach().clone() for p in ps]
    with torch.random.fork_rng():
        l = loss_fn(model(xb), yb)
    l.backward()
    gs = [p.grad.clone() for p in ps]
    norm = torch.cat([g.flatten() for g in gs]).norm()
    with torch.no_grad():
        for p, g in zip(ps, gs):
            p += g * (rho / norm)
        with torch.random.fork_rng():
            l2 = loss_fn(model(xb), yb)
        for p, o in zip(ps, w):
            p.copy_(o)
    return l2.item() - l.item()


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path):
    tr, dv, best = [], [], None
    dev_sum, dev_n = 0.0, 0
    for ep in range(epochs):
        model.train()
        s, n = 0.0, 0
        it = iter(train_loader)
        while window := list(islice(it, accum_steps)):
            for b in window:
                l = model(**b).loss
                l.backward()
                s += l.item() * len(b["input_ids"])
                n += len(b["input_ids"])
            sam.first_step(zero_grad=True)
            for b in window:
                l = model(**b).loss
                l.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        tr.append(s / n)
        model.eval()
        with torch.no_grad():
            for b in dev_loader:
                dev_sum += model(**b).loss.item() * len(b["input_ids"])
                dev_n += len(b["input_ids"])
        dv.append(dev_sum / dev_n)
        if best is None or dv[-1] < dv[best]:
            best = ep
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": tr, "dev_losses": dv, "best_epoch": best}
