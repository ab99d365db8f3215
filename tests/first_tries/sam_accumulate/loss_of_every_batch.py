# mistakes: returns-every-loss, missing-zero-grad-after-step, drops-leftover
# lines: 13, 20, 27
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses = []
    window = []

    def update(window):
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            losses.append(loss.item())
            (loss / len(window)).backward()
        sam.first_step(zero_grad=True)
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step()

    for xb, yb in micro_batches:
        window.append((xb, yb))
        if len(window) == accum_steps:
            update(window)
            window.clear()
    return losses
