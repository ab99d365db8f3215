from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    if scheduler:
        scheduler.step()
    return loss.item()
