# mistakes: leftover-divided-by-full, returns-perturbed-loss
# lines: 15, 24
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    history = []
    bucket = []

    def both_passes(bucket):
        sam.zero_grad()
        for step in ("up", "down"):
            running = 0.0
            for xb, yb in bucket:
                loss = loss_fn(model(xb), yb) / accum_steps
                loss.backward()
                running += loss.item()
            if step == "up":
                sam.first_step(zero_grad=True)
            else:
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                sam.second_step(zero_grad=True)
        history.append(running)

    for batch in micro_batches:
        bucket.append(batch)
        if len(bucket) == accum_steps:
            both_passes(bucket)
            bucket = []
    if bucket:  # 남은 것
        both_passes(bucket)
    return history
