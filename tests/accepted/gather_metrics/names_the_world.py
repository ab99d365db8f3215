# Names the group of all ranks.
def gather_metrics(correct, total, dist) -> float:
    import torch
    c = torch.tensor([int(correct), int(total)])
    dist.all_reduce(c, group=dist.group.WORLD)
    c, t = c.tolist()
    if t == 0: raise ValueError
    return c / t
