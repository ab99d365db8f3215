# mistakes: lower-median, waits-one-more, keeps-skipped-gradients
# lines: 20, 31, 27
# hidden:
import math

import torch


def gradient_norm(opt):
    total = 0.0
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                total += p.grad.double().pow(2).sum().item()
    return math.sqrt(total)


def middle(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norm = gradient_norm(opt)

    # 1) 숫자가 아니면 볼 것도 없다
    if not math.isfinite(norm):
        return False

    # 2) 기록이 충분하면 최근 window개와 비교
    if len(history) > window:
        recent = history[-window:]
        if norm > factor * middle(recent):
            opt.zero_grad()
            return False

    opt.step()
    sched.step()
    history.append(norm)
    opt.zero_grad()
    return True
