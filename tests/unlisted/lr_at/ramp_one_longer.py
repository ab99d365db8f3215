# mistakes: step == warmup_steps까지 오르막이라, 워밍업 바로 뒤가 마지막 스텝이면 min_lr이 아님
# lines: 9
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if decay not in ("cosine", "linear"):
        raise ValueError(f"unknown decay: {decay}")
    if warmup_steps > 0 and step <= warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    last = total_steps - 1
    if step >= last:
        return min_lr
    done = (step - warmup_steps) / (last - warmup_steps)
    left = 1 - done if decay == "linear" else (1 + math.cos(math.pi * done)) / 2
    return min_lr + (peak_lr - min_lr) * left
