# mistakes: other-exception, warmup-counts-micro-batches
# lines: 5, 18
# hidden:
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    assert 0.001 <= warmup_ratio <= 0.2, "warmup_ratio 범위를 확인하세요"

    steps = 0
    seen = 0
    for _ in range(n_epochs):
        bundle = 0
        for b in range(n_batches):
            seen += 1
            bundle += 1
            if bundle == accum_steps or b == n_batches - 1:
                steps += 1
                bundle = 0

    warm = round(seen * warmup_ratio)
    if warm < 1:
        warm = 1
    return steps, warm
