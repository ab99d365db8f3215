# mistakes: zero-grad-once, mean-of-batch-means, returns-tensor, missing-train-mode, keeps-graphs
# lines: 9, 17, 16, 6, 16
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(1, epochs + 1):
        losses = []  # 이번 에폭의 손실을 모아 둔다
        if zero_grad:
            opt.zero_grad()
        for batch in loader:
            x, y = batch
            out = model(x)
            loss = loss_fn(out, y)
            loss.backward()
            opt.step()
            losses.append(loss)
        mean_loss = sum(losses) / len(losses)
        history.append(mean_loss)
    return history
