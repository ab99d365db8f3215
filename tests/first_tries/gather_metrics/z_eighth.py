# mistakes: float32-counts|divides-in-float32, divides-by-zero
# lines: 11, 8
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    if int(total) == 0:
        raise ValueError("데이터가 없습니다")

    counts = torch.tensor([int(correct), int(total)], dtype=torch.float32)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()
