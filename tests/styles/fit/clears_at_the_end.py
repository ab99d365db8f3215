def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    losses = []
    for _ in range(epochs):
        model.train()
        running, n = 0.0, 0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            if zero_grad:
                opt.zero_grad()
            running += loss.item() * xb.size(0)
            n += xb.size(0)
        losses.append(running / n)
    return losses
