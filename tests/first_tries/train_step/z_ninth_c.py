# mistakes: missing-zero-grad, returns-loss-after-update
# lines: 11, 28
# hidden:
import torch


def _clean_grads(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.detach_()
            p.grad.zero_


def _loss_of(model, loss_fn, xb, yb):
    pred = model(xb)
    return loss_fn(pred, yb)


def train_step(model, opt, loss_fn, xb, yb) -> float:
    _clean_grads(model)

    loss = _loss_of(model, loss_fn, xb, yb)
    loss.backward()
    opt.step()

    # 손실을 숫자로 돌려준다
    with torch.no_grad():
        value = _loss_of(model, loss_fn, xb, yb)
    return value.item()
