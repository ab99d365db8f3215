# mistakes: divides-by-all
# lines: 21
# hidden:
import math
from collections import Counter

import torch


def _entropy(probs):
    return -sum(q * math.log(q) for q in probs)


def baseline_loss(targets: torch.Tensor) -> float:
    if torch.is_floating_point(targets):
        t = targets.to(torch.float64)
        return (t - t.mean()).square().mean().item()
    labels = targets.tolist()
    freq = Counter(labels)
    freq.pop(-100, None)
    return float(_entropy(c / len(labels) for c in freq.values()))
