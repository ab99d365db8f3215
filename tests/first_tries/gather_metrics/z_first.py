# mistakes: writes-into-counts, divides-by-zero, divides-in-float32
# lines: 17, 12, 20
# hidden:
import torch


def _count(v):
    return torch.as_tensor(v, dtype=torch.int64).reshape(1)


def gather_metrics(correct, total, dist) -> float:
    if int(total) == 0:
        raise ValueError("데이터가 하나도 없습니다")

    right, every = _count(correct), _count(total)
    for t in (right, every):
        dist.all_reduce(t)

    ratio = right / every
    return ratio.item()
