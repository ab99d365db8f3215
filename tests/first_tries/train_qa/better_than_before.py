# mistakes: clips-first-pass-only|clips-nothing, leftover-divided-by-full, returns-perturbed-loss, better-than-before
# lines: 41, 45, 47, 63
import torch
from torch.nn.utils import clip_grad_norm_


def batches_of(loader, k):
    group = []
    for item in loader:
        group.append(item)
        if len(group) == k:
            yield group
            group = []
    if group:
        yield group


def train_qa(
    model,
    sam,
    train_loader,
    dev_loader,
    *,
    epochs,
    accum_steps,
    scheduler=None,
    max_norm=1.0,
    checkpoint_path,
) -> dict:
    train_losses = []
    dev_losses = []
    best_epoch = 0
    for epoch in range(epochs):
        model.train()
        total, n = 0.0, 0
        for window in batches_of(train_loader, accum_steps):
            sam.zero_grad()
            for batch in window:
                loss = model(**batch).loss / accum_steps
                loss.backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.first_step(zero_grad=True)
            for batch in window:
                loss = model(**batch).loss
                (loss / accum_steps).backward()
                size = batch["input_ids"].shape[0]
                total += loss.item() * size
                n += size
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        train_losses.append(total / n)

        model.eval()
        dev_total, dev_n = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                size = batch["input_ids"].shape[0]
                dev_total += model(**batch).loss.item() * size
                dev_n += size
        dev_losses.append(dev_total / dev_n)

        if epoch == 0 or dev_losses[-1] < dev_losses[-2]:
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
