# mistakes: zero-norm-ignored, scheduler-before-step
# lines: 13, 20
# hidden:
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()

    def limit_gradients():
        if not max_norm:
            return
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    limit_gradients()

    if scheduler is not None:
        scheduler.step()
        opt.step()
    else:
        opt.step()
    return loss.item()
