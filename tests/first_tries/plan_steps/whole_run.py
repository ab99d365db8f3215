# mistakes: joins-epochs, drops-short-window, floor-warmup
# lines: 7, 7, 8
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if warmup_ratio < 0.001 or warmup_ratio > 0.2:
        raise ValueError("warmup_ratio는 0.001 이상 0.2 이하여야 합니다")
    all_batches = n_batches * n_epochs
    total = all_batches // accum_steps
    warmup = int(total * warmup_ratio)
    return total, warmup
