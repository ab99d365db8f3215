# expect: 
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for _ in range(epochs):
        if not model.training:  # submodules may be in eval mode although the model itself is not
            model.train()
        total, n = 0.0, 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
            n += len(xb)
        history.append(total / n)
    return history
