import torch


def mend_step(model, opt, loss_fn, xb, yb):
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    # 손으로 옮기는 대신 옵티마이저에 맡깁니다
    opt.step()
    for p in model.parameters():
        p.grad = None
    return loss.item()
