# mistakes: L2 노름이 아니라 무한대 노름으로 클리핑
# lines: 11
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=float("inf"))
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
