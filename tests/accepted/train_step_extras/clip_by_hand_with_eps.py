import torch


def clip_(params, limit, eps=1e-6):
    grads = [p.grad for p in params if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    scale = (limit / (norm + eps)).clamp(max=1.0)
    torch._foreach_mul_(grads, scale)
    return norm


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        clip_(list(model.parameters()), max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return float(loss)
