# mistakes: needs-dataset
# lines: 5
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    losses = []
    n = len(loader.dataset)
    for _ in range(epochs):
        model.train()
        running = 0.0
        for x, y in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            running += loss.item() * x.size(0)
        losses.append(running / n)
    return losses
