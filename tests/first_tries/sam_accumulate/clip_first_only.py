# mistakes: leftover-divided-by-full, clips-first-pass-only, keeps-first-gradient, returns-every-loss
# lines: 32, 28, 29, 25

from torch.nn.utils import clip_grad_norm_


def _chunks(iterable, n):
    chunk = []
    for item in iterable:
        chunk.append(item)
        if len(chunk) == n:
            yield chunk
            chunk = []
    if chunk:               # 남은 마지막 window
        yield chunk


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses = []
    for window in _chunks(micro_batches, accum_steps):
        sam.zero_grad()

        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            losses.append(loss.item())
            (loss / accum_steps).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step()

        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / accum_steps
            loss.backward()
        sam.second_step()
    return losses
