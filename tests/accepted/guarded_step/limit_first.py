import math

import numpy as np


def guarded_step(opt, sched, history, *, factor=4.0, window=20):
    limit = math.inf
    if len(history) >= window:
        limit = factor * float(np.median(history[-window:]))
    square = 0.0
    for group in opt.param_groups:
        square += sum(float((p.grad**2).sum()) for p in group["params"] if p.grad is not None)
    norm = math.sqrt(square)
    try:
        if norm == math.inf or not norm <= limit:
            return False
        opt.step()
        sched.step()
        history += [norm]
        return True
    finally:
        opt.zero_grad()
