# mistakes: starts-at-zero, never-reaches-min|ends-one-step-late, rises-after-end|divides-by-zero, checks-decay-late
# lines: 10, 13, 13, 19
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if step < warmup_steps:
        # 곧게 올라간다
        return peak_lr * step / warmup_steps

    # 0에서 1까지 얼마나 내려왔는지
    t = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * (1 + math.cos(math.pi * t)) / 2
    elif decay == "linear":
        return peak_lr - (peak_lr - min_lr) * t
    else:
        raise ValueError(f"모르는 decay입니다: {decay}")
