# mistakes: max-norm-of-tensors, mean-not-median, remembers-skipped
# lines: 13, 18, 21
# hidden:
import math


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norms = []
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                norms.append(p.grad.norm().item())
    norm = max(norms, default=0.0)

    ok = math.isfinite(norm)
    if ok and len(history) >= window:
        recent = history[-window:]
        usual = sum(recent) / len(recent)
        ok = norm <= factor * usual

    history.append(norm)
    if ok:
        opt.step()
        sched.step()
    opt.zero_grad()
    return ok
