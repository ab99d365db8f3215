# mistakes: clip-before-backward, scheduler-before-step, unlisted(rounds the returned loss to four digits)
# lines: 13, 18, 21
# hidden:
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)

    # 너무 커지지 않게 미리 줄여 두고 역전파
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()

    # 학습률을 정한 다음 업데이트
    if scheduler is not None:
        scheduler.step()
    opt.step()

    return round(loss.item(), 4)
