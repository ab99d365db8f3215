# mistakes: float32-counts
# lines: 9
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    # 두 개를 한 번에 모은다
    counts = torch.tensor([float(correct), float(total)])
    dist.all_reduce(counts)
    n_correct, n_total = counts.tolist()
    if n_total == 0:
        raise ValueError("센 데이터가 없습니다")
    return n_correct / n_total
