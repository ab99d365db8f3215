# mistakes: unlisted (clears nothing before the first pass), keeps-first-gradient, returns-perturbed-loss
# lines: 5, 7, 14
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    # first forward-backward pass
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()

    # second forward-backward pass
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)

    return loss.item()
