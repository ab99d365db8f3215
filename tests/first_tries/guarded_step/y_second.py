# mistakes: keeps-skipped-gradients
# lines: 20
# hidden:
import math
import statistics


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    # 모든 그레이디언트의 노름
    total = 0.0
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                total += p.grad.double().pow(2).sum().item()
    norm = math.sqrt(total)

    if not math.isfinite(norm):
        return False
    if len(history) >= window and norm > factor * statistics.median(history[-window:]):
        return False

    opt.step()
    sched.step()
    history.append(norm)
    opt.zero_grad()
    return True
