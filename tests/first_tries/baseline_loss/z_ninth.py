# mistakes: divides-by-all
# lines: 24
# hidden:
import math
from collections import Counter

import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.is_floating_point():
        return mean_squared_error(targets.double())
    return entropy(targets.tolist())


def mean_squared_error(values):
    best_guess = values.mean()
    return ((values - best_guess) ** 2).mean().item()


def entropy(labels):
    # 나온 번호만 센다. 0인 칸이 없어서 log(0)도 없다
    counts = Counter(label for label in labels if label != -100)
    n = len(labels)
    return -sum(c / n * math.log(c / n) for c in counts.values())
