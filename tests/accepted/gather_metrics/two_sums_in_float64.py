import torch


def summed(value, dist):
    copy = torch.as_tensor(value).detach().clone().double().reshape(1)
    dist.all_reduce(copy)
    return copy.item()


def gather_metrics(correct, total, dist):
    hits, seen = summed(correct, dist), summed(total, dist)
    if seen == 0:
        raise ValueError(f"total is {seen}")
    return hits / seen
