# mistakes: 내리막의 칸 수를 하나 더 세서 마지막 스텝이 min_lr이 아님
# lines: 18
def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps):
    total = warmup_steps + stable_steps + decay_steps
    if step < 0 or warmup_steps < 0 or stable_steps < 0 or decay_steps < 0 or total == 0:
        raise ValueError("lengths")
    if min_lr < 0 or min_lr > max_lr:
        raise ValueError("min_lr")
    if step >= total:
        return min_lr
    if step < warmup_steps:
        return min_lr + step * (max_lr - min_lr) / warmup_steps
    start = warmup_steps + stable_steps
    if step < start:
        return max_lr
    if decay_steps == 1:
        return min_lr
    return max_lr - (max_lr - min_lr) * (step - start) / decay_steps
