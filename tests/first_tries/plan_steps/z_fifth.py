# mistakes: joins-epochs, warmup-counts-micro-batches, rejects-the-ends
# lines: 13, 14, 9
# hidden:
def ceil_div(a, b):
    return -(-a // b)


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not 0.001 < warmup_ratio < 0.2:
        raise ValueError("warmup_ratio는 0.001에서 0.2 사이여야 합니다")

    all_batches = n_batches * n_epochs
    total = ceil_div(all_batches, accum_steps)
    warmup = max(1, round(all_batches * warmup_ratio))
    return total, warmup
