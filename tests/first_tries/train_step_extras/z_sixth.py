# mistakes: clip-per-parameter, scheduler-before-step
# lines: 10, 18
# hidden:
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    def shrink():
        for parameter in model.parameters():
            clip_grad_norm_(parameter, max_norm)

    loss = loss_fn(model(xb), yb)
    loss.backward()

    if max_norm is not None:
        shrink()
    if scheduler is not None:
        scheduler.step()
    opt.step()
    opt.zero_grad()
    return loss.item()
