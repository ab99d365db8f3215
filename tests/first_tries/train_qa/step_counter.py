# mistakes: windows-straddle-epochs, mean-of-batch-means, saves-last
# lines: 36, 47, 59
import math

import torch
from torch.nn.utils import clip_grad_norm_


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
    train_losses, dev_losses = [], []
    best_loss, best_epoch, best_state = math.inf, 0, None
    window = []
    step = 0
    sam.zero_grad()

    for epoch in range(epochs):
        model.train()
        step_losses = []
        for batch in train_loader:
            window.append(batch)
            loss = model(**batch).loss
            (loss / accum_steps).backward()
            step_losses.append(loss.item())
            step += 1
            if step % accum_steps != 0:
                continue
            sam.first_step(zero_grad=True)
            for old in window:
                (model(**old).loss / accum_steps).backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
            window = []
        train_losses.append(sum(step_losses) / len(step_losses))

        model.eval()
        dev_step_losses = []
        with torch.no_grad():
            for batch in dev_loader:
                dev_step_losses.append(model(**batch).loss.item())
        dev_losses.append(sum(dev_step_losses) / len(dev_step_losses))

        if dev_losses[-1] < best_loss:
            best_loss = dev_losses[-1]
            best_epoch = epoch
            best_state = model.state_dict()

    torch.save(best_state, checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
