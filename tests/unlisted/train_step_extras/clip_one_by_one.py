# mistakes: 모두 합친 노름이 아니라 매개변수마다 따로 클리핑
# lines: 12
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    loss = loss_fn(model(xb), yb)
    opt.zero_grad()
    loss.backward()
    if max_norm is not None:
        for p in model.parameters():
            torch.nn.utils.clip_grad_norm_([p], max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
