# mistakes: missing-zero-grad, forces-train-mode, returns-tensor
# lines: 10, 9, 14
# hidden:
import torch


# 블로그에서 본 순서대로 적어 봤다
def train_step(model, opt, loss_fn, xb, yb) -> float:
    model.train()  # 학습이니까
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    opt.step()
    return loss
