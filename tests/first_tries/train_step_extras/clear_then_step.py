# mistakes: zero-grad-before-step, clip-per-parameter, missing-scheduler-step
# lines: 11, 13, 16
# hidden: clip-per-parameter
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    output = model(xb)
    loss = loss_fn(output, yb)
    loss.backward()
    opt.zero_grad()
    if max_norm is not None:
        for param in model.parameters():
            torch.nn.utils.clip_grad_norm_(param, max_norm)
    opt.step()
    return loss.item()
