def sam_step(model, sam, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)

    loss_fn(model(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return float(loss.detach())
