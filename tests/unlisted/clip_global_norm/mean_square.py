# mistakes: 제곱의 합이 아니라 제곱의 평균으로 노름을 구함
# lines: 8
import math


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    squares = [g.pow(2).mean().item() for g in grads]
    norm = math.sqrt(sum(squares))
    if math.isnan(norm) or math.isinf(norm):
        raise RuntimeError("not finite")
    if norm > max_norm:
        for g in grads:
            g *= max_norm / norm
    return norm
