# mistakes: multiplies-by-zero, skips-frozen
# lines: 12, 10
# hidden:
import torch


def zero_gradients(params) -> None:
    for p in params:
        # 얼린 것과 비어 있는 것은 지울 것이 없다
        if not p.requires_grad or p.grad is None:
            continue
        p.grad *= 0
