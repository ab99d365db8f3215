# mistakes: mean-of-means, divides-by-zero, float32-counts|divides-in-float32
# lines: 12, 11, 12
# hidden: float32-counts|divides-in-float32
import torch


def gather_metrics(correct, total, dist) -> float:
    correct = int(correct)
    total = int(total)
    if total == 0:
        raise ValueError("데이터가 없습니다")
    acc = torch.tensor([correct / total], dtype=torch.float32)
    dist.all_reduce(acc)
    acc /= dist.get_world_size()
    return acc.item()
