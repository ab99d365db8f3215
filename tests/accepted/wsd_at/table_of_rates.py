import torch


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps):
    """The whole schedule as a list in float32; beyond it the minimum."""
    for length in (step, warmup_steps, stable_steps, decay_steps):
        if length < 0:
            raise ValueError(f"negative: {length}")
    if warmup_steps + stable_steps + decay_steps <= 0:
        raise ValueError("nothing to do")
    if not (min_lr >= 0 and max_lr >= min_lr):
        raise ValueError("rates")
    up = torch.linspace(min_lr, max_lr, warmup_steps + 1)[:-1].tolist()
    flat = [max_lr] * stable_steps
    down = torch.linspace(max_lr, min_lr, decay_steps).tolist() if decay_steps > 1 else [min_lr] * decay_steps
    rates = up + flat + down
    return rates[step] if step < len(rates) else min_lr
