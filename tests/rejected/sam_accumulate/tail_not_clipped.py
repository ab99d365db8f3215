# expect: leftover-not-clipped
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    def gradient(window):
        total = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / len(window)
            loss.backward()
            total += loss.item()
        return total

    def climb(window):
        sam.zero_grad()
        loss = gradient(window)
        sam.first_step(zero_grad=True)
        gradient(window)
        return loss

    losses, window = [], []
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            losses.append(climb(window))
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            window = []
    if window:
        losses.append(climb(window))
        sam.second_step(zero_grad=True)
    return losses
