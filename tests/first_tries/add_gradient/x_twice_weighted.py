# mistakes: scales-everything, returns-weighted-loss
# lines: 8, 6
# hidden:
def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    loss = loss_fn(model(xb), yb) * weight
    loss.backward()
    for p in model.parameters():
        p.grad *= weight
    return loss.item()
