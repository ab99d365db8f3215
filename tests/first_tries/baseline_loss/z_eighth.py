# mistakes: divides-by-one-less, divides-by-all, one-float-type
# lines: 9, 14, 17
# hidden:
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    def squared_error(values):
        return values.double().var().item()

    def entropy(labels):
        classes, counts = torch.unique(labels, return_counts=True)
        counts = counts[classes != -100]
        p = counts.double() / len(labels)
        return -(p * p.log()).sum().item()

    if targets.dtype == torch.float32:
        return squared_error(targets)
    return entropy(targets)
