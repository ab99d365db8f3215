# mistakes: returns-perturbed-loss, leftover-divided-by-full, leftover-not-clipped
# lines: 25, 36, 36
# hidden:
import torch


def _one_pass(model, loss_fn, batches, divisor):
    total = 0.0
    for xb, yb in batches:
        loss = loss_fn(model(xb), yb)
        (loss / divisor).backward()
        total += loss.item()
    return total / len(batches)


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses = []
    waiting = []
    sam.zero_grad()
    for pair in micro_batches:
        waiting.append(pair)
        if len(waiting) == accum_steps:
            _one_pass(model, loss_fn, waiting, accum_steps)
            sam.first_step(zero_grad=True)
            loss = _one_pass(model, loss_fn, waiting, accum_steps)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            losses.append(loss)
            waiting = []

    # 남은 것
    if waiting:
        loss = _one_pass(model, loss_fn, waiting, len(waiting))
        sam.first_step(zero_grad=True)
        _one_pass(model, loss_fn, waiting, accum_steps)
        sam.second_step(zero_grad=True)
        losses.append(loss)
    return losses
