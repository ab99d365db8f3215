# mistakes: refuses-equal-rates, checks-late, one-step-at-the-peak
# lines: 7, 18, 23
# hidden:
def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    if step < 0:
        raise ValueError("step은 음수일 수 없습니다")
    if not 0 < min_lr <= max_lr:
        raise ValueError("학습률이 잘못되었습니다")
    if warmup_steps < 0 or stable_steps < 0:
        raise ValueError("길이는 음수일 수 없습니다")
    if warmup_steps + stable_steps + decay_steps == 0:
        raise ValueError("스텝이 하나도 없습니다")

    def warmup(t):
        return min_lr + (max_lr - min_lr) / warmup_steps * t

    def decay(t):
        if decay_steps < 0:
            raise ValueError("길이는 음수일 수 없습니다")
        if t >= decay_steps:
            return min_lr
        # 한 스텝뿐일 때 0으로 나누지 않게
        gaps = max(decay_steps - 1, 1)
        return max_lr - (max_lr - min_lr) * t / gaps

    if step < warmup_steps:
        return float(warmup(step))
    step -= warmup_steps
    if step < stable_steps:
        return float(max_lr)
    return float(decay(step - stable_steps))
