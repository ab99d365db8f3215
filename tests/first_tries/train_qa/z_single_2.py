# mistakes: saves-wrapped-state
# lines: 72
# hidden:
from itertools import islice

import torch


def _size(batch):
    return batch["input_ids"].shape[0]


def _backward(model, batches):
    total = 0.0
    for batch in batches:
        loss = model(**batch).loss
        (loss / len(batches)).backward()
        total += loss.item() * _size(batch)
    return total


def _params(sam):
    return [p for g in sam.param_groups for p in g["params"]]


@torch.no_grad()
def _dev_loss(model, loader):
    model.eval()
    total, n = 0.0, 0
    for batch in loader:
        total += model(**batch).loss.item() * _size(batch)
        n += _size(batch)
    return total / n


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
    best_epoch, best_loss = None, float("inf")
    for epoch in range(epochs):
        model.train()
        loss_sum, count = 0.0, 0
        iterator = iter(train_loader)
        while True:
            window = list(islice(iterator, accum_steps))
            if not window:
                break
            sam.zero_grad()
            loss_sum += _backward(model, window)
            count += sum(_size(b) for b in window)
            sam.first_step(zero_grad=True)
            _backward(model, window)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(_params(sam), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        train_losses.append(loss_sum / count)
        dev_losses.append(_dev_loss(model, dev_loader))
        if best_epoch is None or dev_losses[-1] < best_loss:
            best_epoch, best_loss = epoch, dev_losses[-1]
            checkpoint = {"epoch": epoch, "model": model.state_dict(), "loss": best_loss}
            torch.save(checkpoint, checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
