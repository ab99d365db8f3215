# expect: 
import torch


def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()
    loss_fn(model(xb), yb).backward()
    sam.step()
    return loss.item()
