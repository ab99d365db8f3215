# mistakes: scales-everything, forward-twice
# lines: 11, 8
# hidden:
import torch


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    loss_fn(model(xb), yb).backward()

    # backward가 .grad에 더해 주니까 weight만 곱하면 된다
    for param in model.parameters():
        if param.grad is None:
            continue
        param.grad.mul_(weight)

    with torch.no_grad():
        plain = loss_fn(model(xb), yb)
    return plain.item()
