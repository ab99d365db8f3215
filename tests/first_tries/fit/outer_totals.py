# mistakes: always-clears, zero-grad-once, cumulative-mean, returns-tensor, keeps-graphs
# lines: 9, 9, 5, 17, 15
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    epoch_losses = []
    total_loss = 0
    total_n = 0
    for epoch in range(epochs):
        model.train()
        opt.zero_grad()          # 에폭을 새로 시작
        for xb, yb in loader:
            out = model(xb)
            loss = loss_fn(out, yb)
            loss.backward()
            opt.step()
            total_loss += loss * xb.size(0)
            total_n += xb.size(0)
        epoch_losses.append(total_loss / total_n)
    return epoch_losses
