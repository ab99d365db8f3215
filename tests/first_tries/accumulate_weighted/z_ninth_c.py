# mistakes: mean-of-means, forces-train-mode, drops-leftover
# lines: 18, 24, 29
# hidden:
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be >= 1")

    bucket = []
    n_updates = 0

    def flush():
        nonlocal n_updates
        for x, y in bucket:
            loss = loss_fn(model(x), y)
            (loss / len(bucket)).backward()
        opt.step()
        opt.zero_grad()
        bucket.clear()
        n_updates += 1

    model.train()
    opt.zero_grad()
    for xb, yb in micro_batches:
        bucket.append((xb, yb))
        if len(bucket) == accum_steps:
            flush()

    return n_updates
