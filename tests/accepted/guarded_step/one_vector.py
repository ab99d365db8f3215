import statistics

import torch


def guarded_step(opt, sched, history, *, factor=4.0, window=20):
    pieces = []
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                pieces.append(p.grad.flatten())
    norm = torch.cat(pieces).norm().item()
    if norm != norm or norm == float("inf"):
        skip = True
    elif len(history) >= window:
        skip = norm > factor * statistics.median(history[-window:])
    else:
        skip = False
    if skip:
        opt.zero_grad(set_to_none=True)
        return False
    opt.step()
    sched.step()
    opt.zero_grad(set_to_none=True)
    history.append(norm)
    return True
