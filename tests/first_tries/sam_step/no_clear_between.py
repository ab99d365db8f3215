# mistakes: keeps-first-gradient, returns-perturbed-loss
# lines: 10, 17

def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()

    # first forward-backward pass
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()

    # second forward-backward pass
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)

    return loss.item()
