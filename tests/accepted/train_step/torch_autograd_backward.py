import torch


def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    with torch.enable_grad():
        loss = loss_fn(model(xb), yb)
        torch.autograd.backward(loss)
    opt.step()
    opt.zero_grad()
    return loss.item()
