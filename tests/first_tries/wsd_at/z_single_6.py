# mistakes: stable-without-warmup
# lines: 17
# hidden:
def _check(step, max_lr, min_lr, lengths):
    if step < 0 or any(n < 0 for n in lengths):
        raise ValueError("negative step or length")
    if not any(lengths):
        raise ValueError("all three lengths are 0")
    if not 0 <= min_lr <= max_lr:
        raise ValueError("0 <= min_lr <= max_lr is needed")


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    _check(step, max_lr, min_lr, (warmup_steps, stable_steps, decay_steps))
    if step < warmup_steps:
        return float(min_lr + (max_lr - min_lr) * step / warmup_steps)
    decay_start = max(warmup_steps, stable_steps)
    if step < decay_start:
        return float(max_lr)
    passed = step - decay_start
    # 마지막 스텝과 그 뒤
    if passed >= decay_steps - 1:
        return float(min_lr)
    return float(max_lr + (min_lr - max_lr) * passed / (decay_steps - 1))
