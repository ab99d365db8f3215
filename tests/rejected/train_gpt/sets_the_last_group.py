# expect: last-group-only
from itertools import islice

import torch
import torch.nn.functional as F


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
):
    peaks = [g["lr"] for g in optimizer.param_groups]
    total = n_epochs * len(train_loader)
    out = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}

    def ce(x, y):
        return F.cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten())

    def estimate(loader):
        values = [ce(x, y).item() for x, y in islice(loader, eval_iter)]
        return sum(values) / len(values)

    step = tokens = 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            for param_group, peak in zip(optimizer.param_groups, peaks):
                lr = lr_at(step, warmup_steps=warmup_steps, total_steps=total, initial_lr=initial_lr, peak_lr=peak, min_lr=min_lr)
            param_group["lr"] = lr
            out["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            ce(x, y).backward()
            if step >= warmup_steps or not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if step % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    out["train_losses"].append(estimate(train_loader))
                    out["val_losses"].append(estimate(val_loader))
                out["tokens_seen"].append(tokens)
                model.train()
            step += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return out
