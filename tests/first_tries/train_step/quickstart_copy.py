# mistakes: forces-train-mode, missing-zero-grad, returns-tensor
# lines: 7, 13, 16
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    model.train()
    # Compute prediction and loss
    pred = model(xb)
    loss = loss_fn(pred, yb)

    # Backpropagation
    loss.backward()
    opt.step()

    return loss
