# expect: divides-by-holders
import torch


@torch.no_grad()
def all_reduce_mean_(params, dist) -> None:
    for p in params:
        if not p.requires_grad:
            continue
        has_grad = p.grad is not None
        grad = p.grad if has_grad else torch.zeros_like(p)

        total = grad.clone()
        voters = torch.tensor(float(has_grad))
        dist.all_reduce(total)
        dist.all_reduce(voters)

        total /= voters.clamp(min=1)
        p.grad = total.to(p.dtype)
