# mistakes: 반 바퀴가 아니라 4분의 1바퀴의 코사인을 씀
# lines: 15
from math import cos, pi


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in {"linear", "cosine"}:
        raise ValueError(f"decay: {decay}")
    if step < warmup_steps:
        share = step / warmup_steps
        return initial_lr * (1 - share) + peak_lr * share
    if step >= total_steps - 1:
        return min_lr
    done = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    left = 1 - done if decay == "linear" else cos(pi / 2 * done)
    return min_lr + left * (peak_lr - min_lr)
