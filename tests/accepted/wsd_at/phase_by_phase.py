def _line(start, end, at, count):
    return start if count <= 0 else start + (end - start) * at / count


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps):
    """Walks through the phases, each of which knows its length and its two ends."""
    phases = [
        (warmup_steps, lambda at: _line(min_lr, max_lr, at, warmup_steps)),
        (stable_steps, lambda at: max_lr),
        (decay_steps, lambda at: _line(max_lr, min_lr, at, decay_steps - 1) if decay_steps > 1 else min_lr),
    ]
    lengths = [length for length, _ in phases]
    if step < 0 or any(length < 0 for length in lengths) or not any(lengths):
        raise ValueError("steps")
    if min_lr > max_lr or min_lr < 0.0:
        raise ValueError("rates")
    for length, rate in phases:
        if step < length:
            return rate(step)
        step -= length
    return min_lr
