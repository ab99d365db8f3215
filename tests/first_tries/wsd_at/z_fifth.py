# mistakes: skips-the-peak, refuses-equal-rates, stays-at-the-peak
# lines: 30, 9, 26
# hidden:
def _check(step, max_lr, min_lr, lengths):
    if step < 0 or any(length < 0 for length in lengths):
        raise ValueError("음수는 안 됩니다")
    if sum(lengths) == 0:
        raise ValueError("길이가 모두 0입니다")
    if not (0 < min_lr <= max_lr):
        raise ValueError("학습률이 이상합니다")


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    _check(step, max_lr, min_lr, (warmup_steps, stable_steps, decay_steps))
    gap = max_lr - min_lr

    if step < warmup_steps:
        return float(min_lr + gap * step / warmup_steps)
    step -= warmup_steps

    if step < stable_steps:
        return float(max_lr)
    step -= stable_steps

    # 내려가는 구간이 없으면 끝까지 max_lr
    if decay_steps == 0:
        return float(max_lr)
    if step >= decay_steps:
        return float(min_lr)
    return float(max_lr - gap * (step + 1) / decay_steps)
