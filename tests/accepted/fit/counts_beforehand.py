def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for _ in range(epochs):
        n = sum(len(yb) for _, yb in loader)
        model.train()
        mean = 0.0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            mean += loss.item() * len(yb) / n
        history.append(mean)
    return history
