import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    moving = [p for group in sam.param_groups for p in group["params"] if p.requires_grad]

    def fill_gradients():
        loss = loss_fn(model(xb), yb)
        found = torch.autograd.grad(loss, moving, allow_unused=True)
        for p, g in zip(moving, found):
            p.grad = None if g is None else g.clone()
        return loss.item()

    sam.zero_grad()
    at_w = fill_gradients()
    sam.first_step(zero_grad=True)
    fill_gradients()
    sam.second_step(zero_grad=True)
    return at_w
