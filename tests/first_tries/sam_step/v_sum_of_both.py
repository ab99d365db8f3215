# mistakes: keeps-first-gradient, returns-perturbed-loss
# lines: 8, 13
# hidden:
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()

    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
