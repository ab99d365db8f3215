# mistakes: squares-not-rooted, exhausts-generator, nan-spreads
# lines: 12, 16, 20
# hidden:
import math


def clip_global_norm(params, max_norm) -> float:
    total = 0.0
    for p in params:
        if p.grad is not None:
            total += p.grad.norm().item() ** 2
    norm = total

    if norm > max_norm:
        ratio = max_norm / norm
        for p in params:
            if p.grad is not None:
                p.grad *= ratio

    if not math.isfinite(norm):
        raise RuntimeError(f"노름이 유한하지 않습니다: {norm}")
    return norm
