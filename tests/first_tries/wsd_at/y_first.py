# mistakes: starts-at-zero, refuses-no-warmup
# lines: 18, 7
# hidden:
def check(step, max_lr, min_lr, lengths):
    if step < 0 or any(n < 0 for n in lengths):
        raise ValueError("음수는 쓸 수 없습니다")
    if not all(lengths):
        raise ValueError("길이가 0입니다")
    if not (0 <= min_lr <= max_lr):
        raise ValueError("학습률의 범위가 이상합니다")


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    check(step, max_lr, min_lr, (warmup_steps, stable_steps, decay_steps))

    # 1. 워밍업
    if step < warmup_steps:
        return max_lr * step / warmup_steps

    # 2. 유지
    step = step - warmup_steps
    if step < stable_steps:
        return max_lr

    # 3. 감소
    step = step - stable_steps
    if step < decay_steps and decay_steps > 1:
        remain = 1 - step / (decay_steps - 1)
        return min_lr + (max_lr - min_lr) * remain
    return min_lr
