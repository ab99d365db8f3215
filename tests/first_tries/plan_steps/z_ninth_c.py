# mistakes: joins-epochs
# lines: 8
# hidden:
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not (0.001 <= warmup_ratio <= 0.2):
        raise ValueError("warmup_ratio must be in [0.001, 0.2]")

    remaining_micro_batches = n_batches * n_epochs
    total_number_of_steps = 0
    while remaining_micro_batches > 0:
        total_number_of_steps += 1
        remaining_micro_batches -= accum_steps

    warmup_number_of_steps = max(1, round(total_number_of_steps * warmup_ratio))
    return total_number_of_steps, warmup_number_of_steps
