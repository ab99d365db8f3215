# mistakes: quarter-cosine, end-before-ramp, divides-by-zero
# lines: 9, 16, 18
# hidden:
from math import cos, pi


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    shapes = {
        "cosine": lambda r: cos(pi * r / 2),
        "linear": lambda r: 1 - r,
    }
    if decay not in shapes:
        raise ValueError("decay는 cosine 아니면 linear입니다")

    last = total_steps - 1
    if step >= last:
        return min_lr
    if step <= warmup_steps:
        기울기 = (peak_lr - initial_lr) / warmup_steps
        return initial_lr + 기울기 * step

    ratio = (step - warmup_steps) / (last - warmup_steps)
    return min_lr + (peak_lr - min_lr) * shapes[decay](ratio)
