# mistakes: clip-per-parameter, scheduler-before-step
# lines: 10, 22
# hidden:
from torch.nn.utils import clip_grad_norm_


def shrink(model, limit):
    for p in model.parameters():
        if p.grad is not None:
            clip_grad_norm_([p], limit)


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    loss = loss_fn(model(xb), yb)
    loss.backward()

    if max_norm is not None:
        shrink(model, max_norm)

    # 스케줄러가 있으면 학습률을 정해 준다
    if scheduler is not None:
        scheduler.step()
    opt.step()

    opt.zero_grad()
    return float(loss.detach())
