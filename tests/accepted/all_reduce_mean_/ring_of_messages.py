import torch


def all_reduce_mean_(params, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    after, before = (rank + 1) % size, (rank - 1) % size

    def exchange(sent):
        received = torch.empty_like(sent)
        ops = [dist.P2POp(dist.isend, sent, after), dist.P2POp(dist.irecv, received, before)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        return received

    for p in params:
        if not p.requires_grad:
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        total = passing = p.grad.clone()
        for _ in range(size - 1):
            passing = exchange(passing)
            total = total + passing
        p.grad.copy_(total / size)
