# mistakes: multiplies-by-zero, skips-frozen
# lines: 9, 13
# hidden:
import torch


def _비우기(grad):
    # 0을 곱하면 0이 된다
    grad.detach().mul_(0)


def zero_gradients(params) -> None:
    학습하는_것 = [p for p in params if p.requires_grad]
    for p in 학습하는_것:
        if p.grad is None:
            continue
        _비우기(p.grad)
