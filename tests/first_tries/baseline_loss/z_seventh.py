# mistakes: divides-by-one-less, divides-by-all
# lines: 10, 15
# hidden:
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    def squared_error_baseline(values):
        # 평균을 예측할 때의 제곱 오차 = 분산
        return values.double().var().item()

    def cross_entropy_baseline(labels):
        kept = labels[labels != -100]
        _, counts = torch.unique(kept, return_counts=True)
        freq = counts.double() / len(labels)
        return -(freq * freq.log()).sum().item()

    if targets.is_floating_point():
        return squared_error_baseline(targets)
    return cross_entropy_baseline(targets)
