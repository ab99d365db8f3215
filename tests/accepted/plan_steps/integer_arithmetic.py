def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if warmup_ratio < 0.001 or warmup_ratio > 0.2:
        raise ValueError("warmup_ratio")
    per_epoch = -(-n_batches // accum_steps)
    total = per_epoch * n_epochs
    return total, max(int(total * warmup_ratio + 0.5), 1)
