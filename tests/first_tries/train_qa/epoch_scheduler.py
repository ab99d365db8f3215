# mistakes: cumulative-train-mean, cumulative-dev-mean, scheduler-per-epoch, missing-eval-mode, counts-epochs-from-one, zero-norm-ignored
# lines: 22, 22, 45, 48, 57, 41
from itertools import islice

import torch


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
    result = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    best = None
    total = seen = dev_total = dev_seen = 0
    for epoch in range(1, epochs + 1):
        model.train()
        it = iter(train_loader)
        while True:
            window = list(islice(it, accum_steps))
            if not window:
                break
            sam.zero_grad()
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                n = len(batch["input_ids"])
                total += loss.item() * n
                seen += n
            sam.first_step(zero_grad=True)
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
            if max_norm:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
        if scheduler:
            scheduler.step()
        result["train_losses"].append(total / seen)

        with torch.no_grad():
            for batch in dev_loader:
                n = len(batch["input_ids"])
                dev_total += model(**batch).loss.item() * n
                dev_seen += n
        dev_loss = dev_total / dev_seen
        result["dev_losses"].append(dev_loss)
        if best is None or dev_loss < best:
            best = dev_loss
            result["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    return result
