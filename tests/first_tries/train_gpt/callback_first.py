# mistakes: callback-first
# lines: 49
import math

import torch
from torch import nn
from torch.nn import functional as F


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
) -> dict:
    base_lrs = [g["lr"] for g in optimizer.param_groups]
    last_step = len(train_loader) * n_epochs - 1
    logs = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}

    def set_lr(k):
        for g, base in zip(optimizer.param_groups, base_lrs):
            if k < warmup_steps:
                g["lr"] = initial_lr + k * (base - initial_lr) / warmup_steps
            elif k >= last_step:
                g["lr"] = min_lr
            else:
                half = 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (last_step - warmup_steps)))
                g["lr"] = min_lr + (base - min_lr) * half
        logs["lrs"].append(optimizer.param_groups[0]["lr"])

    def loss_on(batch):
        x, y = batch
        logits = model(x.to(device))
        return F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.to(device).reshape(-1))

    @torch.inference_mode()
    def evaluate():
        model.eval()
        for name, loader in (("train_losses", train_loader), ("val_losses", val_loader)):
            values = []
            for batch in loader:
                if len(values) == eval_iter:
                    break
                values.append(loss_on(batch).item())
            logs[name].append(sum(values) / len(values))
        model.train()

    k, tokens = 0, 0
    for epoch in range(n_epochs):
        if on_epoch_end is not None:
            on_epoch_end(model)
        model.train()
        for batch in train_loader:
            set_lr(k)
            optimizer.zero_grad()
            loss_on(batch).backward()
            if not (clip_after_warmup and k < warmup_steps):
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += batch[0].numel()
            if k % eval_freq == 0:
                evaluate()
                logs["tokens_seen"].append(tokens)
            k += 1
    return logs
