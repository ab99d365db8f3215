# mistakes: drops-short-window, floor-warmup
# lines: 7, 9
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if warmup_ratio < 0.001 or warmup_ratio > 0.2:
        raise ValueError("warmup_ratio must be between 0.001 and 0.2")

    updates_per_epoch = n_batches // accum_steps
    total = updates_per_epoch * n_epochs
    warmup = int(total * warmup_ratio)
    return total, warmup
