# mistakes: 나누어떨어져도 에폭마다 한 스텝을 더 셈
# lines: 7
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if not (0.001 <= warmup_ratio <= 0.2):
        raise ValueError("warmup_ratio")
    full, rest = divmod(n_batches, accum_steps)
    if rest >= 0:
        full += 1
    total = full * n_epochs
    warmup = max(1, round(warmup_ratio * total))
    return total, warmup
