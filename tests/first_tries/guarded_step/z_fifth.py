# mistakes: first-group-only, whole-history, nan-only
# lines: 11, 21, 17
# hidden:
import math
import statistics


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    def gradient_norm():
        squares = 0.0
        for p in opt.param_groups[0]["params"]:
            if p.grad is not None:
                squares += p.grad.double().square().sum().item()
        return math.sqrt(squares)

    def looks_normal(norm):
        if math.isnan(norm):
            return False
        if len(history) < window:
            return True
        usual = statistics.median(history[:window])
        return norm <= factor * usual

    norm = gradient_norm()
    go = looks_normal(norm)
    if go:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return go
