# mistakes: cumulative-mean, missing-train-mode, zero-grad-once, returns-tensor, keeps-graphs
# lines: 6, 9, 10, 15, 15
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    total, n = 0.0, 0
    epoch = 0
    while epoch < epochs:
        if zero_grad:
            opt.zero_grad()
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total = total + loss * len(xb)
            n += len(xb)
        history.append(total / n)
        epoch += 1
    return history
