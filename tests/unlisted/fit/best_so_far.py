# mistakes: 에폭의 평균이 아니라 그때까지의 가장 낮은 평균을 적음
# lines: 18
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    best = float("inf")
    for epoch in range(epochs):
        model.train()
        total, count = 0.0, 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
            count += len(xb)
        best = min(best, total / count)
        history.append(best)
    return history
