# mistakes: multiplies-by-zero, skips-frozen
# lines: 12, 10
# hidden:
import torch


def zero_gradients(params) -> None:
    with torch.no_grad():
        for p in params:
            if p.requires_grad and p.grad is not None:
                # 제자리에서 0으로 만든다
                p.grad.mul_(0.0)
