import torch


def gather_metrics(correct, total, dist):
    counts = torch.tensor([int(correct), int(total)])
    others = range(1, dist.get_world_size())
    if dist.get_rank() == 0:
        theirs = torch.empty_like(counts)
        for other in others:
            dist.recv(theirs, src=other)
            counts += theirs
        for other in others:
            dist.send(counts, dst=other)
    else:
        dist.send(counts, dst=0)
        dist.recv(counts, src=0)
    right, everything = counts.tolist()
    if everything == 0:
        raise ValueError("no data on any rank")
    return right / everything
