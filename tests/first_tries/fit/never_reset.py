# mistakes: cumulative-mean, always-clears, returns-tensor, keeps-graphs
# lines: 6, 9, 17, 17
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    epoch_losses = []
    total = 0
    n = 0
    for epoch in range(1, epochs + 1):
        model.train()
        opt.zero_grad()
        for batch in loader:
            xb, yb = batch
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            if zero_grad:
                opt.zero_grad()
            total += loss * len(xb)
            n += len(xb)
        epoch_losses.append(total / n)
    return epoch_losses
