# mistakes: warmup-off-by-one, ignores-decay, divides-by-zero
# lines: 12, 19, 18
from math import cos, pi


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    last = total_steps - 1

    if step < warmup_steps:
        # 한 스텝에 이만큼씩 올라간다
        slope = (peak_lr - initial_lr) / warmup_steps
        return initial_lr + slope * (step + 1)

    if step > last:
        return min_lr

    # 코사인으로 내려간다
    t = (step - warmup_steps) / (last - warmup_steps)
    return min_lr + 0.5 * (peak_lr - min_lr) * (1 + cos(pi * t))
