def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(epochs):
        model.train()
        total = 0.0
        batches = 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item()  # here: mean-of-batch-means
            batches += 1
        history.append(total / batches)
    return history
