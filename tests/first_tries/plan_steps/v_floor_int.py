# mistakes: drops-short-window, truncates-warmup|floor-warmup, no-minimum-warmup|floor-warmup
# lines: 7, 9, 10
# hidden:
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if not (0.001 <= warmup_ratio <= 0.2):
        raise ValueError("warmup_ratio는 0.001 ~ 0.2")
    steps_per_epoch = n_batches // accum_steps
    total_steps = steps_per_epoch * n_epochs
    warmup_steps = int(total_steps * warmup_ratio)
    return total_steps, warmup_steps
