# mistakes: missing-train-mode, cumulative-mean, mean-of-batch-means
# lines: 5, 6, 16
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    model.train()
    total_loss = 0
    num = 0
    for e in range(epochs):
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total_loss += loss.item()
            num += 1
        history.append(total_loss / num)
    return history
