def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for _ in range(epochs):
        model.train()
        weighted = []
        for xb, yb in loader:
            def closure():
                if zero_grad:
                    opt.zero_grad()
                loss = loss_fn(model(xb), yb)
                loss.backward()
                return loss

            weighted.append((float(opt.step(closure).detach()), len(xb)))
        n = sum(size for _, size in weighted)
        history.append(sum(loss * size for loss, size in weighted) / n)
    return history
