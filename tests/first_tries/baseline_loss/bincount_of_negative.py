# mistakes: divides-by-one-less, counts-ignored
# lines: 10, 11
# hidden:
import torch


def baseline_loss(targets):
    # 실수
    if targets.is_floating_point():
        return targets.var().item()
    counts = torch.bincount(targets).float()
    p = counts / counts.sum()
    p = p[p > 0]
    return -(p * p.log()).sum().item()
