# mistakes: one-epoch-less, flag-inverted, records-every-batch
# lines: 5, 8, 13
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    losses = []
    for epoch in range(1, epochs):
        model.train()
        for xb, yb in loader:
            if not zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
