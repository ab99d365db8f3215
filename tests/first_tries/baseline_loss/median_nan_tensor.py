# mistakes: predicts-median, logarithm-of-zero, returns-tensor
# lines: 11, 17, 18
# hidden:
import torch
import torch.nn.functional as F


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.dtype.is_floating_point:
        t = targets.double()
        guess = t.median()
        return F.mse_loss(guess.expand_as(t), t).item()

    valid = targets[targets.long() != -100]
    counts = torch.bincount(valid)
    p = counts.double() / valid.numel()
    loss = -(p * p.log()).sum()
    return loss
