# mistakes: joins-epochs
# lines: 8
# hidden:
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not 0.001 <= warmup_ratio <= 0.2:
        raise ValueError("warmup_ratio는 0.001 이상 0.2 이하여야 합니다")

    remaining = n_batches * n_epochs
    total = 0
    while remaining > 0:
        total += 1
        remaining -= accum_steps

    warmup = round(total * warmup_ratio)
    if warmup < 1:
        warmup = 1
    return total, warmup
