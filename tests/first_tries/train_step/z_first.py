# mistakes: missing-zero-grad, rounded-loss
# lines: 11, 15
# hidden:
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    out = model(xb)
    err = loss_fn(out, yb)

    err.backward()      # 기울기 구하기
    opt.step()          # 한 걸음

    # 보기 좋게 소수점 정리
    return round(err.item(), 4)
