# mistakes: 샘플 수로 xb.shape[0]이 아니라 xb.shape[1]을 씀
# lines: 15
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    losses = []
    for _ in range(epochs):
        model.train()
        running, n = 0.0, 0
        for xb, yb in loader:
            out = model(xb)
            loss = loss_fn(out, yb)
            if zero_grad:
                opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item() * xb.shape[1]
            n += xb.shape[1]
        losses.append(running / n)
    return losses
