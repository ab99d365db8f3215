# mistakes: forces-train-mode, keeps-first-gradient
# lines: 13, 18
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    def 손실_재고_역전파():
        손실 = loss_fn(model(xb), yb)
        손실.backward()
        return 손실.item()

    model.train()  # 학습이니까 학습 모드
    sam.zero_grad()

    # 올라가기
    처음_손실 = 손실_재고_역전파()
    sam.first_step()

    # 내려가기
    손실_재고_역전파()
    sam.second_step(zero_grad=True)
    return 처음_손실
