# mistakes: never-reaches-min, checks-in-the-warmup-only, allows-no-steps
# lines: 20, 9, 6
# hidden:
def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    if step < 0 or warmup_steps < 0 or stable_steps < 0 or decay_steps < 0:
        raise ValueError("음수는 안 됩니다")

    if step < warmup_steps:
        if not 0 <= min_lr <= max_lr:
            raise ValueError("0 <= min_lr <= max_lr이어야 합니다")
        return float(min_lr + (max_lr - min_lr) / warmup_steps * step)

    if step < warmup_steps + stable_steps:
        return float(max_lr)

    done = step - warmup_steps - stable_steps
    if done < decay_steps:
        if decay_steps == 1:
            return float(min_lr)
        return float(max_lr - (max_lr - min_lr) * done / decay_steps)

    return float(min_lr)
