# mistakes: checks-decay-late, decays-to-zero
# lines: 30, 19
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    def warm():
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps

    def progress():
        return (step - warmup_steps) / (total_steps - 1 - warmup_steps)

    def cosine(t):
        return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * t))

    def linear(t):
        # 아래로는 min_lr까지만
        return max(min_lr, peak_lr * (1 - t))

    if step < warmup_steps:
        return warm()
    if step >= total_steps - 1:
        return min_lr

    if decay == "cosine":
        return cosine(progress())
    elif decay == "linear":
        return linear(progress())
    raise ValueError(f"unknown decay: {decay}")
