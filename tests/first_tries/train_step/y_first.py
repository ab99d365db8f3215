# mistakes: missing-zero-grad, returns-loss-after-update
# lines: 13, 18
# hidden:
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    # 1) 예측하고 손실 구하기
    prediction = model(xb)
    loss = loss_fn(prediction, yb)

    # 2) 역전파하고 가중치 바꾸기
    loss.backward()
    opt.step()

    # 3) 손실 기록하기
    with torch.no_grad():
        value = loss_fn(model(xb), yb)
    return value.item()
