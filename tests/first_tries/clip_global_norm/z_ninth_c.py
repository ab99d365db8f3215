# mistakes: exhausts-generator
# lines: 12
# hidden:
import math

import torch


@torch.no_grad()
def clip_global_norm(params, max_norm) -> float:
    # 1) 전체 노름
    squares = [p.grad.norm(2).item() ** 2 for p in params if p.grad is not None]
    total = math.sqrt(sum(squares))

    if math.isinf(total) or math.isnan(total):
        raise RuntimeError(f"gradient norm is {total}")

    if total <= max_norm:
        return total

    # 2) 줄이기
    ratio = max_norm / total
    for p in params:
        if p.grad is None:
            continue
        p.grad.mul_(ratio)
    return total
