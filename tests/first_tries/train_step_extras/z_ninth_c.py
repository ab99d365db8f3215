# mistakes: clip-per-parameter, scheduler-before-step
# lines: 11, 18
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    def clip():
        for p in model.parameters():
            clip_grad_norm_(p, max_norm)

    # backward 다음에 차례로 할 일
    todo = []
    if max_norm is not None:
        todo.append(clip)
    if scheduler is not None:
        todo.append(scheduler.step)
    todo.append(opt.step)

    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    for do in todo:
        do()
    return loss.item()
