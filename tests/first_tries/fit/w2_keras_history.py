# mistakes: missing-train-mode, always-clears, mean-of-batch-means
# lines: 6, 10, 15
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = {"loss": []}
    model.train()
    for epoch in range(epochs):
        running_loss = 0.0
        for step, (xb, yb) in enumerate(loader):
            opt.zero_grad()
            y_pred = model(xb)
            loss = loss_fn(y_pred, yb)
            loss.backward()
            opt.step()
            running_loss += loss.item()
        history["loss"].append(running_loss / (step + 1))
    return history["loss"]
