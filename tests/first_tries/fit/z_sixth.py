# mistakes: missing-train-mode, cumulative-mean, keeps-graphs
# lines: 5, 6, 17
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    model.train()
    running_sum = 0.0
    running_count = 0
    curve = []

    def one_batch(xb, yb):
        nonlocal running_sum, running_count
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        if zero_grad:
            opt.zero_grad()
        running_sum = running_sum + loss * len(xb)
        running_count += len(xb)

    for _ in range(epochs):
        for xb, yb in loader:
            one_batch(xb, yb)
        curve.append(float(running_sum / running_count))
    return curve
