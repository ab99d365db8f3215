# expect: logarithm-of-zero
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.is_floating_point():
        return torch.var(targets.double(), correction=0).item()
    labels = targets.long()
    labels = labels[labels != -100]
    p = torch.bincount(labels).double() / len(labels)
    return -torch.dot(p, torch.log(p)).item()
