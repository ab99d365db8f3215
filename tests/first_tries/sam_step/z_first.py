# mistakes: keeps-first-gradient, returns-perturbed-loss
# lines: 16, 21
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()

    def forward_backward():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss.item()

    # 올라가기, 내려가기
    for move in (sam.first_step, sam.second_step):
        value = forward_backward()
        move()

    sam.zero_grad()
    return value
