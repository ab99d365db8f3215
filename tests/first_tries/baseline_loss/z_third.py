# mistakes: divides-by-all
# lines: 16
# hidden:
import torch


def _best_constant(values):
    # 제곱 오차를 가장 작게 하는 상수는 평균
    values = values.double()
    return ((values - values.mean()) ** 2).mean()


def _best_distribution(classes):
    counted = classes[classes != -100]
    frequency = torch.bincount(counted.long()).double()
    probability = frequency / len(classes)
    probability = probability[probability > 0]
    return -(probability * probability.log()).sum()


def baseline_loss(targets: torch.Tensor) -> float:
    loss = _best_constant(targets) if targets.is_floating_point() else _best_distribution(targets)
    return loss.item()
