import statistics
from itertools import chain

import numpy as np


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    owned = list(chain.from_iterable(group["params"] for group in opt.param_groups))
    flat = [p.grad.detach().cpu().double().numpy().ravel() for p in owned if p.grad is not None]
    norm = float(np.linalg.norm(np.concatenate(flat))) if flat else 0.0

    limit = np.inf if len(history) < window else factor * statistics.median(history[len(history) - window :])
    good = bool(np.isfinite(norm) and norm <= limit)
    actions = [opt.step, sched.step, lambda: history.append(norm)] if good else []
    for act in [*actions, opt.zero_grad]:
        act()
    return good
