# mistakes: never-reaches-min
# lines: 30
# hidden:
def _check(step, max_lr, min_lr, lengths):
    if step < 0 or any(n < 0 for n in lengths):
        raise ValueError("음수는 안 됩니다")
    if sum(lengths) == 0:
        raise ValueError("길이가 모두 0입니다")
    if not 0 <= min_lr <= max_lr:
        raise ValueError("0 <= min_lr <= max_lr이어야 합니다")


def _between(start, end, fraction):
    return start * (1 - fraction) + end * fraction


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    _check(step, max_lr, min_lr, (warmup_steps, stable_steps, decay_steps))

    if step < warmup_steps:
        return float(_between(min_lr, max_lr, step / warmup_steps))
    step -= warmup_steps

    if step < stable_steps:
        return float(max_lr)
    step -= stable_steps

    if decay_steps == 1 or step >= decay_steps:
        return float(min_lr)
    return float(_between(max_lr, min_lr, step / decay_steps))
