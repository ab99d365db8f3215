# mistakes: unlisted(divides by the norm but forgets max_norm), touches-none, returns-nothing
# lines: 15, 9, 16
import torch


@torch.no_grad()
def clip_global_norm(params, max_norm):
    params = list(params)
    flat = torch.cat([p.grad.flatten() for p in params])
    norm = flat.norm().item()
    if not torch.isfinite(flat).all():
        raise RuntimeError("non-finite gradient")
    if norm > max_norm:
        for p in params:
            p.grad /= norm
    # .grad가 이미 바뀌었으니 돌려줄 것은 없다
