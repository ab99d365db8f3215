# expect: decays-to-zero+stays-at-peak
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in {"cosine", "linear"}:
        raise ValueError(decay)

    def lr_lambda(current_step):
        progress = float(current_step - warmup_steps) / float(max(1, total_steps - warmup_steps))
        progress = min(progress, 1.0)
        if decay == "linear":
            return max(min_lr / peak_lr, 1.0 - progress)
        return max(min_lr / peak_lr, 0.5 * (1.0 + math.cos(math.pi * progress)))

    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * float(step) / float(max(1, warmup_steps))
    return peak_lr * lr_lambda(step)
