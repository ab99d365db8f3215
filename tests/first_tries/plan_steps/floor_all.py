# mistakes: half-ratio-check, drops-short-window, floor-warmup
# lines: 4, 6, 8
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if warmup_ratio < 0.001:
        raise ValueError("warmup_ratio가 너무 작습니다")
    steps_per_epoch = n_batches // accum_steps
    total = steps_per_epoch * n_epochs
    warmup = int(total * warmup_ratio)
    return total, warmup
