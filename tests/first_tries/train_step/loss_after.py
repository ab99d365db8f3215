# mistakes: forces-train-mode, missing-zero-grad, returns-loss-after-update
# lines: 7, 12, 16
import torch


def train_step(model, opt, loss_fn, xb, yb):
    model.train()
    # forward
    out = model(xb)
    loss = loss_fn(out, yb)
    # backward
    loss.backward()
    opt.step()
    # 업데이트 후의 손실을 기록
    with torch.no_grad():
        loss = loss_fn(model(xb), yb)
    return loss.item()
