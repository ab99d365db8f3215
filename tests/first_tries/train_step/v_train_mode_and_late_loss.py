# mistakes: forces-train-mode, missing-zero-grad, returns-loss-after-update
# lines: 8, 11, 16
# hidden:
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    model.train()  # 학습이니까 학습 모드로
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    opt.step()

    # 업데이트한 다음의 손실을 기록
    with torch.no_grad():
        new_loss = loss_fn(model(xb), yb)
    return new_loss.item()
