# mistakes: mean-of-means, divides-by-zero
# lines: 11, 9
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    if total == 0:
        raise ValueError("데이터가 없습니다")
    acc = torch.tensor(float(correct) / float(total))
    dist.all_reduce(acc, op=dist.ReduceOp.SUM)
    return (acc / dist.get_world_size()).item()
