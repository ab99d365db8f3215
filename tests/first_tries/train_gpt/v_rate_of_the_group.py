# mistakes: leaves-callback-mode, peak-from-decayed-lr, always-clips-after-warmup, tokens-every-step
# lines: 47, 51, 56, 60
from itertools import islice
from math import cos, pi

import torch
import torch.nn.functional as F


def between(start, end, part):
    return start + (end - start) * part


def lr_for(s, warmup, total, start, peak, end):
    if s < warmup:
        return between(start, peak, s / warmup)
    if s + 1 >= total:
        return end
    part = (s - warmup) / (total - 1 - warmup)
    return between(end, peak, (1 + cos(pi * part)) / 2)


class Eyes:
    """몇 배치만 보고 손실을 잰다."""

    def __init__(self, model, device, most):
        self.model, self.device, self.most = model, device, most

    def loss(self, x, y):
        out = self.model(x.to(self.device))
        return F.cross_entropy(out.reshape(-1, out.size(-1)), y.to(self.device).reshape(-1))

    def see(self, *loaders):
        self.model.eval()
        with torch.no_grad():
            found = [torch.stack([self.loss(x, y) for x, y in islice(one, self.most)]) for one in loaders]
        self.model.train()
        return [losses.mean().item() for losses in found]


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False,
              on_epoch_end=None):
    eyes = Eyes(model, device, eval_iter)
    log = dict(train_losses=[], val_losses=[], tokens_seen=[], lrs=[])
    s, tokens, total = 0, 0, n_epochs * len(train_loader)
    model.train()
    for _ in range(n_epochs):
        for x, y in train_loader:
            for g in optimizer.param_groups:
                g["lr"] = lr_for(s, warmup_steps, total, initial_lr, g["lr"], min_lr)
            log["lrs"] += [optimizer.param_groups[0]["lr"]]
            optimizer.zero_grad()
            eyes.loss(x, y).backward()
            # 처음에는 자르지 않는다
            warm = s >= warmup_steps
            if warm:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel(); log["tokens_seen"] += [tokens]
            if s % eval_freq == 0:
                a, b = eyes.see(train_loader, val_loader)
                log["train_losses"] += [a]
                log["val_losses"] += [b]
            s += 1
        if on_epoch_end: on_epoch_end(model)
    return log
