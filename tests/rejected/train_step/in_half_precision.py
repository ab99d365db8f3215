# expect: 
import torch


def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
