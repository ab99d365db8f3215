def add_gradient(model, loss_fn, xb, yb, weight):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad *= weight  # here: scales-everything
    return loss.item()
