# mistakes: divides-by-one-less, other-logarithm, counts-ignored
# lines: 10, 15, 13
# hidden:
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.is_floating_point():
        # 평균을 예측하면 손실은 분산이다
        return targets.double().var().item()

    # 클래스마다 몇 번 나왔는지
    _, counts = torch.unique(targets, return_counts=True)
    p = counts.double() / counts.sum()
    return -(p * torch.log2(p)).sum().item()
