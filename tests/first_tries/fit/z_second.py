# mistakes: missing-train-mode, always-clears, keeps-graphs
# lines: 18, 6, 23
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    def start_epoch():
        opt.zero_grad()
        return 0.0, 0

    def one_step(xb, yb):
        if zero_grad:
            opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        return loss

    epoch_losses = []
    model.train()
    for epoch in range(epochs):
        loss_sum, n_samples = start_epoch()
        for xb, yb in loader:
            loss = one_step(xb, yb)
            loss_sum = loss_sum + loss * len(yb)
            n_samples += len(yb)
        epoch_losses.append(float(loss_sum / n_samples))
    return epoch_losses
