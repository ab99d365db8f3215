# expect: prints
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(epochs):
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
        print(f"epoch {epoch}: {history[-1]:.4f}")
    return history
