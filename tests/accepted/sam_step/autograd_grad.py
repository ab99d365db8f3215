import torch


def sam_step(model, sam, loss_fn, xb, yb):
    params = [p for group in sam.param_groups for p in group["params"]]

    def gradients():
        loss = loss_fn(model(xb), yb)
        for p, g in zip(params, torch.autograd.grad(loss, params)):
            p.grad = g
        return loss.item()

    value = gradients()
    sam.first_step()
    gradients()
    sam.second_step()
    sam.zero_grad()
    return value
