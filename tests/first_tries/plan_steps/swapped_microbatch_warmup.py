# mistakes: warmup-counts-micro-batches, half-ratio-check, swapped-returns
# lines: 16, 5, 17

def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if warmup_ratio < 0 or warmup_ratio > 1:
        raise ValueError("warmup_ratio must be between 0 and 1")

    updates = 0
    for _ in range(n_epochs):
        left = n_batches
        while left > 0:
            left -= accum_steps
            updates += 1          # 마지막 짧은 윈도우도 1번

    total_iters = n_batches * n_epochs
    num_warmup = max(1, round(warmup_ratio * total_iters))
    return num_warmup, updates
