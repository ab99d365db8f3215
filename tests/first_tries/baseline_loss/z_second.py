# mistakes: divides-by-all
# lines: 25
# hidden:
import torch


def _best_mse(values):
    values = values.double()
    center = values.mean()
    return ((values - center) ** 2).mean().item()


def _entropy(class_counts, n):
    probs = class_counts.double() / n
    return -(probs * probs.log()).sum().item()


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.is_floating_point():
        return _best_mse(targets)

    # 정수: 나온 번호의 빈도가 가장 좋은 확률
    kept = targets[targets != -100]
    _, counts = kept.unique(return_counts=True)
    return _entropy(counts, len(targets))
