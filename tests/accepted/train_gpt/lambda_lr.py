import math
from itertools import islice

import torch
from torch.nn import CrossEntropyLoss
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LambdaLR


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    """LambdaLR는 그룹의 lr에 배율을 곱합니다. 지난번에 남은 initial_lr은 지웁니다."""
    total = len(train_loader) * n_epochs
    for g in optimizer.param_groups:
        g.pop("initial_lr", None)

    def factor(peak):
        def at(k):
            if k < warmup_steps:
                return (initial_lr + k * (peak - initial_lr) / warmup_steps) / peak
            if k >= total - 1:
                return min_lr / peak
            p = (k - warmup_steps) / (total - 1 - warmup_steps)
            return (min_lr + (peak - min_lr) * (1 + math.cos(math.pi * p)) / 2) / peak
        return at

    scheduler = LambdaLR(optimizer, [factor(g["lr"]) for g in optimizer.param_groups])
    criterion = CrossEntropyLoss()

    def loss_of(x, y):
        logits = model(x.to(device))
        return criterion(logits.view(-1, logits.size(-1)), y.to(device).view(-1))

    @torch.inference_mode()
    def evaluate(loader):
        model.eval()
        losses = torch.tensor([loss_of(x, y) for x, y in islice(loader, eval_iter)])
        model.train()
        return losses.mean().item()

    out = dict(train_losses=[], val_losses=[], tokens_seen=[], lrs=[])
    tokens = s = 0
    model.train()
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            out["lrs"].append(scheduler.get_last_lr()[0])
            loss = loss_of(x, y)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            if s >= warmup_steps if clip_after_warmup else True:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            scheduler.step()
            tokens += x.shape[0] * x.shape[1]
            if s % eval_freq == 0:
                out["val_losses"].append(evaluate(val_loader))
                out["train_losses"].append(evaluate(train_loader))
                out["tokens_seen"].append(tokens)
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return out
