# expect: 
import torch


def all_reduce_mean_(params, dist) -> None:
    trainable = [p for p in params if p.requires_grad]
    if not trainable:
        return
    for p in trainable:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    dtype = trainable[0].grad.dtype
    bucket = torch.cat([p.grad.reshape(-1).to(dtype) for p in trainable])
    dist.all_reduce(bucket)  # 통신은 한 번
    bucket /= dist.get_world_size()
    offset = 0
    for p in trainable:
        size = p.grad.numel()
        p.grad.copy_(bucket[offset : offset + size].view_as(p.grad))
        offset += size
