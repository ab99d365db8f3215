import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        total = torch.sqrt(sum((p.grad ** 2).sum() for p in model.parameters() if p.grad is not None))
        if total > max_norm:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad *= max_norm / total
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
