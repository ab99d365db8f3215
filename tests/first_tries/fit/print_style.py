# mistakes: missing-train-mode, missing-zero-grad, divides-by-batch-count, prints, returns-tensor
# lines: 7, 8, 13, 14, 15
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for epoch in range(1, epochs + 1):
        total, n_batches = 0, 0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.detach() * len(xb)
            n_batches += 1
        avg = total / n_batches
        print(f"epoch {epoch}: loss {avg:.4f}")
        history.append(avg)
    return history
