# mistakes: 학습 손실을 적을 곳에도 검증 로더를 넘김
# lines: 55
from itertools import islice

import torch
import torch.nn.functional as F


def train_gpt(
    model,
    train_loader,
    val_loader,
    optimizer,
    *,
    device="cpu",
    n_epochs,
    eval_freq,
    eval_iter,
    warmup_steps,
    initial_lr=3e-5,
    min_lr=1e-6,
    max_norm=1.0,
    clip_after_warmup=False,
    on_epoch_end=None,
):
    def loss_of(x, y):
        logits = model(x.to(device))
        return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())

    @torch.no_grad()
    def measure(loader):
        values = [loss_of(x, y).item() for x, y in islice(loader, eval_iter)]
        return sum(values) / len(values)

    record = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    peaks = [g["lr"] for g in optimizer.param_groups]
    total = n_epochs * len(train_loader)
    s = seen = 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            for g, peak in zip(optimizer.param_groups, peaks):
                g["lr"] = lr_at(
                    s, warmup_steps=warmup_steps, total_steps=total, initial_lr=initial_lr, peak_lr=peak, min_lr=min_lr
                )
            record["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            loss_of(x, y).backward()
            if s >= warmup_steps or not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            seen += x.numel()
            if s % eval_freq == 0:
                model.eval()
                record["train_losses"].append(measure(val_loader))
                record["val_losses"].append(measure(val_loader))
                record["tokens_seen"].append(seen)
                model.train()
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return record
