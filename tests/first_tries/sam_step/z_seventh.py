# mistakes: keeps-first-gradient
# lines: 15
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    def forward_backward():
        current = loss_fn(model(xb), yb)
        current.backward()
        return current.item()

    sam.zero_grad()
    loss_at_w = forward_backward()
    sam.first_step()
    forward_backward()
    sam.second_step(zero_grad=True)
    return loss_at_w
