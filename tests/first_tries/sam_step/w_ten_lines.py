# mistakes: keeps-first-gradient, returns-perturbed-loss
# lines: 12, 18
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    # 1. w에서
    loss = loss_fn(model(xb), yb)
    loss.backward()
    # 2. 올라가기
    sam.first_step()
    # 3. w + e에서 다시
    loss = loss_fn(model(xb), yb)
    loss.backward()
    # 4. 돌아와서 업데이트
    sam.second_step(zero_grad=True)
    return loss.item()
