# mistakes: missing-eval-mode, sums-train-loss, leftover-divided-by-full, clips-first-pass-only, keeps-first-gradient
# lines: 41, 37, 23, 27, 28
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
) -> dict:
    train_losses, dev_losses = [], []
    for epoch in range(epochs):
        model.train()
        epoch_loss = 0.0
        iterator = iter(train_loader)
        while True:
            window = list(islice(iterator, accum_steps))
            if len(window) == 0:
                break
            # first pass
            for batch in window:
                loss = model(**batch).loss / accum_steps
                loss.backward()
                epoch_loss += loss.item() * accum_steps * len(batch["input_ids"])
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.first_step()

            # second pass
            for batch in window:
                loss = model(**batch).loss / accum_steps
                loss.backward()
            sam.second_step(zero_grad=True)
            if scheduler:
                scheduler.step()
        train_losses.append(epoch_loss)

        # evaluate
        dev_sum = dev_count = 0
        with torch.no_grad():
            for batch in dev_loader:
                n = len(batch["input_ids"])
                dev_sum += model(**batch).loss.item() * n
                dev_count += n
        dev_losses.append(dev_sum / dev_count)
        if epoch == 0 or dev_losses[-1] < min(dev_losses[:-1]):
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)

    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
