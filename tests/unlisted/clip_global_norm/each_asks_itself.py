# mistakes: 합친 노름이 아니라 텐서마다의 노름이 넘을 때만 줄임
# lines: 12
import math


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    total = math.sqrt(sum(float((g * g).sum()) for g in grads))
    if not math.isfinite(total):
        raise RuntimeError(f"norm: {total}")
    for g in grads:
        if g.norm() > max_norm:
            g.mul_(max_norm / total)
    return total
