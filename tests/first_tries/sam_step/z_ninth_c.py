# mistakes: keeps-first-gradient, returns-perturbed-loss
# lines: 17, 20
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    def measure():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss.detach()

    sam.zero_grad()

    # 올라가기
    loss = measure()
    sam.first_step()

    # 내려가기
    loss = measure()
    sam.second_step(zero_grad=True)

    return loss.item()
