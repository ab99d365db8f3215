def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps):
    """The lower one of a rising and a falling line, no higher than the peak."""
    if min(step, warmup_steps, stable_steps, decay_steps) < 0:
        raise ValueError("음수입니다")
    total = warmup_steps + stable_steps + decay_steps
    if not total or not 0.0 <= min_lr <= max_lr:
        raise ValueError("쓸 수 없는 값입니다")
    if step >= total:
        return min_lr
    rising = step / warmup_steps if warmup_steps else 1.0
    falling = 1.0
    if decay_steps == 1:
        falling = float(step < total - 1)
    elif decay_steps > 1:
        falling = (total - 1 - step) / (decay_steps - 1)
    height = max(0.0, min(1.0, rising, falling))
    return (1 - height) * min_lr + height * max_lr
