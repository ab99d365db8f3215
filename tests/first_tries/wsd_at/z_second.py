# mistakes: refuses-equal-rates, never-reaches-min, rounds-the-rate
# lines: 12, 24, 29
# hidden:
def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    lengths = [warmup_steps, stable_steps, decay_steps]

    def check():
        if step < 0 or any(n < 0 for n in lengths):
            raise ValueError("음수는 안 됩니다")
        if sum(lengths) == 0:
            raise ValueError("스텝이 없습니다")
        if min_lr < 0 or min_lr >= max_lr:
            raise ValueError("학습률의 범위가 이상합니다")

    def raw():
        position = step
        if position < warmup_steps:
            return min_lr + (max_lr - min_lr) / warmup_steps * position
        position -= warmup_steps
        if position < stable_steps:
            return max_lr
        position -= stable_steps
        if position < decay_steps:
            fraction = position / decay_steps
            return max_lr + (min_lr - max_lr) * fraction
        return min_lr

    check()
    return round(float(raw()), 8)
