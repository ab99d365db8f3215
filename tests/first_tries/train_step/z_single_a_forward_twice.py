# mistakes: forward-twice
# lines: 9
# hidden:
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    with torch.no_grad():
        before = loss_fn(model(xb), yb).item()
    opt.zero_grad()
    loss_fn(model(xb), yb).backward()
    opt.step()
    return before
