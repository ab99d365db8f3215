import torch


@torch.no_grad()
def all_reduce_mean_(params, dist):
    world = dist.get_world_size()
    for p in filter(lambda q: q.requires_grad, params):
        mine = p.grad if p.grad is not None else p.new_zeros(p.shape)
        everyone = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(everyone, mine)
        p.grad = torch.stack(everyone).mean(0)
