from math import cos, pi

HEIGHT = {
    "cosine": lambda t: cos(pi * t / 2) ** 2,  # = (1 + cos(pi t)) / 2
    "linear": lambda t: 1 - t,
}


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    try:
        height = HEIGHT[decay]
    except (KeyError, TypeError):
        raise ValueError(f"unknown decay: {decay!r}") from None

    def between(low, high, share):
        return low * (1 - share) + high * share

    behind, ahead = step - warmup_steps, total_steps - 1 - step
    if behind < 0:
        return between(initial_lr, peak_lr, step / warmup_steps)
    if ahead <= 0:
        return float(min_lr)
    return between(min_lr, peak_lr, height(behind / (behind + ahead)))
