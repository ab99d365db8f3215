# mistakes: missing-zero-grad, returns-loss-after-update, forces-train-mode
# lines: 9, 15, 16
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    prediction = model(xb)
    error = loss_fn(prediction, yb)
    error.backward()
    opt.step()

    # 얼마나 좋아졌는지 확인
    model.eval()
    with torch.no_grad():
        new_error = loss_fn(model(xb), yb)
    model.train()
    return new_error.item()
