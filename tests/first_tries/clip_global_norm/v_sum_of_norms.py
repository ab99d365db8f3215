# mistakes: sums-norms, one-of-two-not-finite, replaces-gradient
# lines: 15, 17, 24
# hidden:
import math


def clip_global_norm(params, max_norm):
    params = list(params)

    # 전체 노름
    total_norm = 0.0
    for p in params:
        if p.grad is None:
            continue
        total_norm += p.grad.norm(2).item()

    if math.isnan(total_norm):
        raise RuntimeError("그레이디언트가 NaN입니다")

    clip_coef = max_norm / total_norm if total_norm > max_norm else 1.0
    if clip_coef < 1:
        for p in params:
            if p.grad is not None:
                p.grad = p.grad * clip_coef
    return total_norm
