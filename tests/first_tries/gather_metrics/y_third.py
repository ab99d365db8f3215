# mistakes: divides-in-float32, writes-into-counts
# lines: 17, 8
# hidden:
import torch


def _as_count(v):
    return torch.as_tensor(v, dtype=torch.int64).reshape(1)


def gather_metrics(correct, total, dist) -> float:
    c, t = _as_count(correct), _as_count(total)
    for z in (c, t):
        dist.all_reduce(z)
    if t.item() == 0:
        raise ValueError("total == 0")
    acc = c / t
    return acc.item()
