# mistakes: quarter-cosine, end-before-ramp, checks-decay-late
# lines: 23, 13, 11
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    def between(start, end, t):
        return start + (end - start) * t

    last = total_steps - 1
    if step >= last:
        return min_lr

    if step < warmup_steps:
        return between(initial_lr, peak_lr, step / warmup_steps)

    t = (step - warmup_steps) / (last - warmup_steps)
    match decay:
        case "linear":
            height = 1 - t
        case "cosine":
            height = math.cos(math.pi / 2 * t)
        case _:
            raise ValueError(f"모르는 decay입니다: {decay!r}")
    return between(min_lr, peak_lr, height)
