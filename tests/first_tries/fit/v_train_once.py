# mistakes: missing-train-mode, mean-of-batch-means
# lines: 5, 16
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    model.train()
    history = []
    for epoch in range(epochs):
        batch_losses = []
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            batch_losses.append(loss.item())
        history.append(sum(batch_losses) / len(batch_losses))
    return history
