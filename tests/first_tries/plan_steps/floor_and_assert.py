# mistakes: drops-short-window, truncates-warmup, other-exception
# lines: 7, 9, 5
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    # 비율이 이상하면 바로 멈춘다
    assert 0.001 <= warmup_ratio <= 0.2, "warmup_ratio는 0.001 이상 0.2 이하"

    steps_in_epoch = n_batches // accum_steps
    total = steps_in_epoch * n_epochs
    warmup = max(1, int(total * warmup_ratio))
    return total, warmup
