# mistakes: judges-with-itself
# lines: 18
# hidden:
import math
import statistics


def _norm(opt):
    grads = [p.grad for group in opt.param_groups for p in group["params"] if p.grad is not None]
    return math.sqrt(sum(float(g.double().square().sum()) for g in grads))


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norm = _norm(opt)
    accept = math.isfinite(norm)
    if accept and len(history) >= window:
        # 이번 것까지 마지막 window개
        latest = (history + [norm])[-window:]
        accept = norm <= factor * statistics.median(latest)
    if accept:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return accept
