def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    first = loss_fn(model(xb), yb)
    first.backward()
    sam.first_step(zero_grad=True)
    second = loss_fn(model(xb), yb)
    (second / 2).backward()  # here: halves-the-losses
    sam.second_step(zero_grad=True)
    return first.item()
