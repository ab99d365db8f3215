import torch


def sam_step_local(ddp, sam, loss_fn, xb, yb):
    params = [p for p in ddp.module.parameters() if p.requires_grad]
    with ddp.no_sync():
        loss = loss_fn(ddp(xb), yb)
        grads = torch.autograd.grad(loss, params)
    for p, g in zip(params, grads):
        p.grad = g
    sam.first_step(zero_grad=True)
    loss_fn(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return loss.item()
