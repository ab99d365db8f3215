# mistakes: zero-weight-skipped, forward-twice, scales-everything
# lines: 10, 23, 21
# hidden:
import torch


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    # weight가 0이면 더할 것이 없으니 바로 끝낸다
    if weight == 0:
        return 0.0

    def measure():
        with torch.no_grad():
            return loss_fn(model(xb), yb).item()

    def push():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        for p in model.parameters():
            if p.grad is not None:
                p.grad.mul_(weight)

    value = measure()
    push()
    return value
