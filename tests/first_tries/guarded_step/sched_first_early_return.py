# mistakes: scheduler-before-step, keeps-skipped-gradients, nan-passes
# lines: 23, 21, 18
# hidden:
import statistics

import torch


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    grads = []
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                grads.append(p.grad.flatten())
    # 모두 이어 붙여서 노름을 잰다
    norm = torch.cat(grads).norm().item() if grads else 0.0

    if len(history) >= window:
        median = statistics.median(history[-window:])
        if norm > factor * median:
            return False

    sched.step()
    opt.step()
    history.append(norm)
    opt.zero_grad()
    return True
