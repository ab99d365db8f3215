# mistakes: missing-train-mode, mean-of-batch-means, cumulative-mean
# lines: 6, 15, 5
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    batch_losses = []
    model.train()
    for epoch in range(epochs):
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            batch_losses.append(loss.item())
        history.append(sum(batch_losses) / len(batch_losses))
    return history
