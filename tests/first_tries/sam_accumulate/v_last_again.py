# mistakes: returns-every-loss, last-batch-only, leftover-divided-by-full, clips-nothing
# lines: 16, 19, 20, 23
# hidden:
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    history = []
    queue = []

    def flush():
        sam.zero_grad()
        for xb, yb in queue:
            loss = loss_fn(model(xb), yb)
            (loss / accum_steps).backward()
            history.append(loss.item())
        sam.first_step(zero_grad=True)

        for _ in queue:
            (loss_fn(model(xb), yb) / accum_steps).backward()
        sam.second_step()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.zero_grad()
        queue.clear()

    for batch in micro_batches:
        queue.append(batch)
        if len(queue) == accum_steps:
            flush()
    if queue:  # 남은 것
        flush()
    return history
