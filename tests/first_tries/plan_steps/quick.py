# mistakes: rejects-the-ends, joins-epochs, drops-short-window, floor-warmup
# lines: 4, 6, 6, 8
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not 0.001 < warmup_ratio < 0.2:
        raise ValueError("warmup_ratio")
    total = n_batches * n_epochs // accum_steps
    warmup = total * warmup_ratio
    warmup = int(warmup)
    return total, warmup
