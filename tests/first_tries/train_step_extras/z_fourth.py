# mistakes: zero-norm-ignored, clip-per-parameter, scheduler-before-step
# lines: 22, 9, 24
# hidden:
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    def shrink():
        for p in model.parameters():
            if p.grad is not None:
                torch.nn.utils.clip_grad_norm_([p], max_norm)

    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()

    if scheduler is None:
        if max_norm is not None:
            shrink()
        opt.step()
    else:
        if max_norm:
            shrink()
        scheduler.step()
        opt.step()

    return loss.item()
