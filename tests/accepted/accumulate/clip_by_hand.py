import torch


def clip(params, max_norm):
    params = [p for p in params if p.grad is not None]
    norm = sum(p.grad.pow(2).sum().item() for p in params) ** 0.5
    if norm > max_norm:
        for p in params:
            p.grad.mul_(max_norm / norm)


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if not accum_steps >= 1:
        raise ValueError("accum_steps는 1 이상")
    batches = list(micro_batches)
    updates = 0
    opt.zero_grad()
    while batches:
        window, batches = batches[:accum_steps], batches[accum_steps:]
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            loss.backward(torch.ones_like(loss) / len(window))
        if max_norm is not None:
            clip(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad(set_to_none=False)
        updates += 1
    return updates
