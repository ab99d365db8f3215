# mistakes: 스케줄러에 손실을 넘겨서 그 수가 스텝 번호로 읽힘
# lines: 16
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    value = loss.item()
    if scheduler is not None:
        scheduler.step(value)
    return value
