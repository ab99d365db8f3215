# mistakes: unlisted (clears nothing before the first pass), keeps-first-gradient, returns-perturbed-loss
# lines: 5, 6, 12
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()

    # w + e 에서 한 번 더
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
