import torch


def all_reduce_mean_(params, dist):
    size, works = dist.get_world_size(), []
    for p in params:
        if not p.requires_grad:
            continue
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        work = dist.all_reduce(p.grad, async_op=True)
        work.get_future().then(lambda done: done.value()[0].div_(size))
        works.append(work)
    for work in works:
        work.wait()
