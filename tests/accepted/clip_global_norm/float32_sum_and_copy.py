import torch


class NotFinite(RuntimeError):
    pass


def clip_global_norm(params, max_norm):
    total = torch.tensor(0.0)
    held = [p for p in params if p.grad is not None]
    for p in held:
        total += (p.grad.detach() ** 2).sum().cpu()
    norm = total.sqrt().item()
    if norm != norm or norm == float("inf"):
        raise NotFinite(norm)
    if norm > max_norm:
        for p in held:
            p.grad.data.copy_(p.grad.data / norm * max_norm)
    return norm
