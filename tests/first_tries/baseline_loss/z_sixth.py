# mistakes: divides-by-all
# lines: 15
# hidden:
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    def best_constant(values):
        center = values.mean()
        return ((values - center) ** 2).mean()

    def best_distribution(labels):
        counted = labels[labels != -100]
        _, how_many = counted.unique(return_counts=True)
        frequency = how_many.double() / len(labels)
        return -(frequency * frequency.log()).sum()

    if targets.is_floating_point():
        return best_constant(targets.double()).item()
    return best_distribution(targets).item()
