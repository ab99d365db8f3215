# mistakes: missing-train-mode, mean-of-batch-means
# lines: 6, 14
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for epoch in range(epochs):
        losses = []
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    return history
