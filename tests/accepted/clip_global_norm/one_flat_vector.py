import torch


@torch.no_grad()
def clip_global_norm(params, max_norm):
    params = list(params)
    flat = torch.cat([p.grad.flatten() for p in params if p.grad is not None])
    norm = flat.norm(2)
    if not torch.isfinite(norm):
        raise RuntimeError(f"norm = {norm}")
    scale = min(1.0, max_norm / (norm.item() + 1e-12))
    for p in params:
        if p.grad is not None:
            p.grad *= scale
    return norm.item()
