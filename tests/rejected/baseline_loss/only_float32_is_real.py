# expect: one-float-type
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.dtype == torch.float32:
        return targets.double().var(correction=0).item()
    labels = targets[targets.long() != -100]
    _, counts = torch.unique(labels, return_counts=True)
    p = counts.double() / counts.sum()
    return torch.special.entr(p).sum().item()
