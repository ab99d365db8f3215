# mistakes: divides-in-float32, writes-into-counts, returns-tensor
# lines: 14, 10, 14
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    correct = torch.as_tensor(correct)
    total = torch.as_tensor(total)
    dist.all_reduce(correct)
    dist.all_reduce(total)
    if int(total) == 0:
        raise ValueError("total is 0")
    return correct / total
