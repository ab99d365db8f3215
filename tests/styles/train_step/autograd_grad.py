import torch


def train_step(model, opt, loss_fn, xb, yb):
    params = [p for p in model.parameters() if p.requires_grad]
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    for p, g in zip(params, grads):
        p.grad = g
    opt.step()
    return loss.item()
