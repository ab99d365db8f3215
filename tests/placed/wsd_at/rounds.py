def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    if not 0 <= min_lr <= max_lr:  # before: no-length-check
        raise ValueError("min_lr은 0 이상, max_lr 이하여야 합니다")

    gap = max_lr - min_lr
    if step < warmup_steps:
        lr = min_lr + gap / warmup_steps * step
    elif step < warmup_steps + stable_steps:
        lr = max_lr
    elif step < warmup_steps + stable_steps + decay_steps:
        k = step - warmup_steps - stable_steps
        lr = max_lr - gap * k / max(1, decay_steps - 1)
    else:
        lr = min_lr
    return round(lr, 6)  # here: rounds-the-rate
