# expect: divides-by-one-less
import torch


def baseline_loss(targets):
    if torch.is_floating_point(targets):
        return targets.var().item()
    kept = targets[targets != -100]
    _, counts = kept.unique(return_counts=True)
    p = counts / len(kept)
    return float(-(p * torch.log(p)).sum())
