# expect: 
import torch


def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        again = loss_fn(model(xb), yb)
    again.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
