# mistakes: divides-by-one-less, drops-class-zero
# lines: 10, 12
# hidden:
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.is_floating_point():
        # 가장 좋은 상수는 평균이고, 그때의 제곱 오차는 분산
        return targets.double().var().item()

    valid = targets[targets > 0]  # -100은 버린다
    counts = torch.bincount(valid)
    counts = counts[counts > 0]
    p = counts.double() / counts.sum()
    return -(p * p.log()).sum().item()
