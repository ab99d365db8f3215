# mistakes: divides-by-one-less, divides-by-all
# lines: 12, 16
# hidden:
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    n = targets.numel()

    if targets.is_floating_point():
        # 평균을 예측할 때의 제곱 오차 = 분산
        return targets.double().var().item()

    labels = targets[targets != -100]
    freq = torch.bincount(labels).double()
    freq = freq[freq > 0] / n
    entropy = -(freq * freq.log()).sum()
    return entropy.item()
