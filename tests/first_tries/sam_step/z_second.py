# mistakes: keeps-first-gradient, returns-perturbed-loss
# lines: 20, 26
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    latest_loss = 0.0

    def forward_and_backward():
        nonlocal latest_loss
        loss = loss_fn(model(xb), yb)
        loss.backward()
        latest_loss = loss.item()

    sam.zero_grad()

    # 1) 올라간다
    forward_and_backward()
    sam.first_step()

    # 2) 내려와서 업데이트한다
    forward_and_backward()
    sam.second_step(zero_grad=True)

    return latest_loss
