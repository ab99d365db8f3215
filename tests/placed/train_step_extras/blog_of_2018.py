def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    from torch.nn.utils import clip_grad_norm_

    if scheduler is not None:
        scheduler.step()  # here: scheduler-before-step
    opt.zero_grad()
    out = model(xb)
    loss = loss_fn(out, yb)
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)  # here: clip-before-backward
    loss.backward()
    opt.step()
    return loss.data.item()
