import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    limit = float("inf") if max_norm is None else max_norm
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit, foreach=True)
    opt.step()
    scheduler is not None and scheduler.step()
    return loss.item()
