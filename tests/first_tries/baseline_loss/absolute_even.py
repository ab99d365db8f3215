# mistakes: absolute-error, even-classes
# lines: 10, 14
# hidden:
import math
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.dtype.is_floating_point:
        return (targets - targets.mean()).abs().mean().item()
    valid = targets[targets != -100]
    classes = torch.unique(valid)
    # 아무것도 모르면 log(클래스 수)
    return math.log(len(classes))
