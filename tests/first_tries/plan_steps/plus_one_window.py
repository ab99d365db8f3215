# mistakes: always-one-window-more
# lines: 7
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if warmup_ratio < 0.001 or warmup_ratio > 0.2:
        raise ValueError("warmup_ratio: 0.001 ~ 0.2")
    # 꽉 찬 구간들 + 에폭 끝의 짧은 구간 하나
    windows = n_batches // accum_steps + 1
    total_steps = windows * n_epochs
    warmup_steps = round(total_steps * warmup_ratio)
    if warmup_steps < 1:
        warmup_steps = 1
    return total_steps, warmup_steps
