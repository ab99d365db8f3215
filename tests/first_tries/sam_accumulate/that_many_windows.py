# mistakes: unlisted(makes accum_steps windows instead of windows of accum_steps)
# lines: 11
import math

from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    batches = list(micro_batches)
    # accum_steps번 업데이트하도록 나눈다
    size = math.ceil(len(batches) / accum_steps)
    windows = [batches[i : i + size] for i in range(0, len(batches), size)]

    losses = []
    for window in windows:
        n = len(window)
        mean_loss = 0.0
        sam.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / n
            loss.backward()
            mean_loss += loss.item()
        sam.first_step(zero_grad=True)
        for xb, yb in window:
            (loss_fn(model(xb), yb) / n).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(mean_loss)
    return losses
