# mistakes: scheduler-per-epoch, missing-eval-mode, saves-last, counts-epochs-from-one
# lines: 43, 48, 56, 57
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
    best_dev = None
    best_state = None
    model.train()
    for epoch in range(1, epochs + 1):
        loss_sum, seen = 0.0, 0
        batches = iter(train_loader)
        while True:
            window = list(islice(batches, accum_steps))
            if len(window) == 0:
                break
            sam.zero_grad()
            for b in window:
                out = model(**b)
                (out.loss / len(window)).backward()
                loss_sum += out.loss.item() * b["input_ids"].size(0)
                seen += b["input_ids"].size(0)
            sam.first_step(zero_grad=True)
            for b in window:
                (model(**b).loss / len(window)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
        if scheduler is not None:
            scheduler.step()
        result["train_losses"].append(loss_sum / seen)

        dev_sum, dev_seen = 0.0, 0
        with torch.no_grad():
            for b in dev_loader:
                n = b["input_ids"].size(0)
                dev_sum += model(**b).loss.item() * n
                dev_seen += n
        dev = dev_sum / dev_seen
        result["dev_losses"].append(dev)
        if best_dev is None or dev < best_dev:
            best_dev = dev
            best_state = model.state_dict()
            result["best_epoch"] = epoch

    torch.save(best_state, checkpoint_path)
    return result
