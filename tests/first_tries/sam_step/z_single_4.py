# mistakes: averages-both-gradients
# lines: 9
# hidden:
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    params = [p for group in sam.param_groups for p in group["params"]]
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    g_w = [None if p.grad is None else p.grad.clone() for p in params]
    sam.first_step(zero_grad=True)
    loss_fn(model(xb), yb).backward()
    for p, g in zip(params, g_w):
        if p.grad is not None and g is not None:
            p.grad.add_(g).mul_(0.5)
    sam.second_step(zero_grad=True)
    return loss.item()
