# mistakes: end-before-ramp, checks-decay-late, never-reaches-min
# lines: 12, 22, 17
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    def between(start, end, portion):
        return start + (end - start) * portion

    # 끝났으면 바로 최솟값
    if step >= total_steps - 1:
        return min_lr
    if step < warmup_steps:
        return between(initial_lr, peak_lr, step / warmup_steps)

    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "linear":
        return between(peak_lr, min_lr, progress)
    if decay == "cosine":
        return between(min_lr, peak_lr, (1 + math.cos(math.pi * progress)) / 2)
    raise ValueError(f"모르는 decay입니다: {decay}")
