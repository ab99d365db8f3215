# mistakes: spread-not-variance, even-classes, drops-class-zero
# lines: 13, 19, 16
# hidden:
import math

import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if torch.is_floating_point(targets):
        mean = targets.double().mean()
        mse = ((targets.double() - mean) ** 2).mean()
        return float(mse.sqrt())
    else:
        # -100은 빼고
        labels = targets[targets > 0]
        num_classes = len(labels.unique())
        # 입력을 못 보니까 확률은 1/K
        return math.log(max(num_classes, 1))
