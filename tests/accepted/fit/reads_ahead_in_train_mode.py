# Reads the loader into a list after `model.train()`: reading changes no mode.
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for _ in range(epochs):
        model.train()
        batches = list(loader)
        samples = sum(len(xb) for xb, _ in batches)
        total = 0.0
        for xb, yb in batches:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
        history.append(total / samples)
    return history
