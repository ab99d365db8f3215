# mistakes: zero-grad-once, cumulative-mean
# lines: 12, 6
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    loss_sum = 0.0
    n_samples = 0

    for epoch in range(epochs):
        model.train()
        if zero_grad:
            opt.zero_grad()

        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()

            # 배치 크기로 가중
            loss_sum += loss.item() * len(xb)
            n_samples += len(xb)

        history.append(loss_sum / n_samples)

    return history
