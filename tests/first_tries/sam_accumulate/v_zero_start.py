# mistakes: keeps-first-gradient, returns-perturbed-loss, steps-on-first
# lines: 21, 22, 33
# hidden:
import torch.nn as nn


def _run(model, loss_fn, window):
    """한 패스: 평균 손실을 돌려준다"""
    n = len(window)
    total = 0.0
    for xb, yb in window:
        loss = loss_fn(model(xb), yb) / n
        loss.backward()
        total += loss.item()
    return total


def _update(model, sam, loss_fn, window, max_norm):
    sam.zero_grad()
    loss = _run(model, loss_fn, window)
    sam.first_step()
    loss = _run(model, loss_fn, window)
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    sam.second_step(zero_grad=True)
    return loss


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses, window = [], []
    for i, batch in enumerate(micro_batches):
        window.append(batch)
        if i % accum_steps == 0:
            losses.append(_update(model, sam, loss_fn, window, max_norm))
            window = []
    if len(window) > 0:
        losses.append(_update(model, sam, loss_fn, window, max_norm))
    return losses
