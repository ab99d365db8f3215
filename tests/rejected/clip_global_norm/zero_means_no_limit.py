# expect: zero-limit-ignored
import math


def clip_global_norm(params, max_norm) -> float:
    gradients = [p.grad for p in params if p.grad is not None]
    norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in gradients))
    if not math.isfinite(norm):
        raise RuntimeError(f"노름: {norm}")
    # 0이면 클리핑하지 않습니다
    if max_norm > 0 and norm > max_norm:
        for g in gradients:
            g *= max_norm / norm
    return norm
