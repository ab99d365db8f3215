# mistakes: none-everywhere-stays-none
# lines: 16
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    world = dist.get_world_size()
    for p in params:
        if p.requires_grad:
            used = torch.tensor(float(p.grad is not None), device=p.device)
            grad = p.grad if p.grad is not None else torch.zeros_like(p)
            dist.all_reduce(used)
            dist.all_reduce(grad)
            if used.item() == 0:
                p.grad = None
            else:
                p.grad = grad.div_(world)
