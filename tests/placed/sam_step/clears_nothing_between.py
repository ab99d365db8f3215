def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()  # here: keeps-first-gradient
    loss_fn(model(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return loss.item()
