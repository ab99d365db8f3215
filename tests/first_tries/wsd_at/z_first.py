# mistakes: refuses-equal-rates, never-reaches-min
# lines: 9, 29
# hidden:
def _check(step, max_lr, min_lr, lengths):
    if step < 0 or any(n < 0 for n in lengths):
        raise ValueError("음수는 안 됩니다")
    if sum(lengths) == 0:
        raise ValueError("스텝이 없습니다")
    if not 0 < min_lr <= max_lr:
        raise ValueError("min_lr, max_lr을 확인하세요")


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    _check(step, max_lr, min_lr, (warmup_steps, stable_steps, decay_steps))
    span = max_lr - min_lr

    # 1) 오르막
    if step < warmup_steps:
        return min_lr + span * step / warmup_steps
    step -= warmup_steps

    # 2) 평지
    if step < stable_steps:
        return max_lr
    step -= stable_steps

    # 3) 내리막
    if step < decay_steps:
        if decay_steps == 1:
            return min_lr
        return max_lr - span * step / decay_steps

    return min_lr
