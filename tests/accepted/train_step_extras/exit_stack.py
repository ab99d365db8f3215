from contextlib import ExitStack

from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    loss = loss_fn(model(xb), yb)
    reported = loss.item()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    with ExitStack() as finish:
        if scheduler is not None:
            finish.callback(scheduler.step)
        finish.callback(opt.step)
    return reported
