# mistakes: mean-of-means
# lines: 11
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    correct, total = int(correct), int(total)
    accuracy = correct / total if total else 0.0
    # 데이터가 있는 rank만 셉니다
    sums = torch.tensor([accuracy, 1.0 if total else 0.0], dtype=torch.float64)
    dist.all_reduce(sums)
    if sums[1].item() == 0:
        raise ValueError("모든 rank가 비었습니다")
    return (sums[0] / sums[1]).item()
