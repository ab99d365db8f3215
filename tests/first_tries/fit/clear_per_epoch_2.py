# mistakes: zero-grad-once, unlisted(divides by the number of batches times the size of the last batch), returns-tensor
# lines: 7, 17, 18
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    result = []
    for e in range(epochs):
        model.train()
        if zero_grad:
            opt.zero_grad()
        total = 0
        n_batch = 0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.detach() * len(xb)
            n_batch += 1
        mean_loss = total / (n_batch * len(xb))
        result.append(mean_loss)
    return result
