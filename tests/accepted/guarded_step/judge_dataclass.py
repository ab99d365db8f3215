import math
import statistics
from dataclasses import dataclass


@dataclass
class Judge:
    history: list
    factor: float
    window: int

    def accepts(self, norm: float) -> bool:
        if not math.isfinite(norm):
            return False
        if len(self.history) < self.window:
            return True
        return not norm > self.factor * statistics.median(self.history[-self.window :])


def _total(opt) -> float:
    pieces = (
        p.grad.detach().double().norm().item()
        for group in opt.param_groups
        for p in group["params"]
        if p.grad is not None
    )
    return math.hypot(*pieces)


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norm = _total(opt)
    try:
        if not Judge(history, factor, window).accepts(norm):
            return False
        opt.step()
        sched.step()
        history.append(norm)
        return True
    finally:
        opt.zero_grad(set_to_none=True)
