# mistakes: zero-grad-before-step
# lines: 11
# hidden:
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    opt.zero_grad()
    opt.step()
    return loss.item()
