# mistakes: first-group-only, keeps-skipped-gradients, waits-one-more
# lines: 12, 17, 21
# hidden:
import math
import statistics

import torch


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    pieces = []
    for p in opt.param_groups[0]["params"]:
        if p.grad is not None:
            pieces.append(p.grad.detach().flatten())
    norm = torch.cat(pieces).norm().item() if pieces else 0.0

    if not math.isfinite(norm):
        return False

    ok = True
    if len(history) > window:
        usual = statistics.median(history[-window:])
        ok = norm <= factor * usual

    if ok:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return ok
