# expect: divides-by-all
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.is_floating_point():
        t = targets.double()
        return (t - t.mean()).square().mean().item()
    labels = targets.long()
    labels = labels[labels != -100]
    _, counts = labels.unique(return_counts=True)
    p = counts.double() / targets.numel()
    return -(p * p.log()).sum().item()
