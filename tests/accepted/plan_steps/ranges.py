class RatioError(ValueError):
    pass


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    percent = warmup_ratio * 100
    if percent < 0.1 or percent > 20:
        raise RatioError(f"{percent}%")
    total = len(range(0, n_batches, accum_steps)) * n_epochs
    warmup = round(total / (1 / warmup_ratio)) or 1
    return total, warmup
