# mistakes: forces-train-mode, returns-perturbed-loss, missing-zero-grad
# lines: 8, 18, 16
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    model.train()

    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)

    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step()

    return loss.item()
