# mistakes: zero-grad-before-step, missing-sample-weight
# lines: 16, 18
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    losses = []

    def run_epoch():
        # 한 에폭
        model.train()
        total, seen = 0.0, 0
        for xb, yb in loader:
            logits = model(xb)
            loss = loss_fn(logits, yb)
            loss.backward()
            if zero_grad:
                opt.zero_grad()
            opt.step()
            total += loss.item()
            seen += len(yb)
        return total / seen

    for _ in range(epochs):
        losses.append(run_epoch())
    return losses
