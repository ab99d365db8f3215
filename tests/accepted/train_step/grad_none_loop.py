def train_step(model, opt, loss_fn, xb, yb):
    for group in opt.param_groups:
        for p in group["params"]:
            p.grad = None
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.tolist()
