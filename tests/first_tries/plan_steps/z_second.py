# mistakes: joins-epochs
# lines: 14
# hidden:
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    def ceil_div(a, b):
        return -(-a // b)

    def check_ratio(r):
        if not (0.001 <= r <= 0.2):
            raise ValueError(f"warmup_ratio가 이상합니다: {r}")

    check_ratio(warmup_ratio)
    every_batch = n_batches * n_epochs
    total = ceil_div(every_batch, accum_steps)
    warmup = max(1, round(total * warmup_ratio))
    return total, warmup
