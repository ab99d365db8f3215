# mistakes: missing-zero-grad, clip-per-parameter, scheduler-before-step, returns-tensor
# lines: 10, 15, 18, 21
# hidden:
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    out = model(xb)
    loss = loss_fn(out, yb)
    loss.backward()

    if max_norm is not None:
        for w in model.parameters():
            if w.grad is not None:
                clip_grad_norm_([w], max_norm)

    if scheduler is not None:
        scheduler.step()
    opt.step()

    return loss.detach()
