# mistakes: missing-no-grad, mean-of-batch-means, always-train-mode, accuracy-in-percent
# lines: 10, 16, 15, 17
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    losses = []
    correct = 0
    n = 0
    try:
        for xb, yb in loader:
            logits = model(xb)
            losses.append(loss_fn(logits, yb).item())
            correct += (logits.argmax(dim=1) == yb).sum().item()
            n += len(yb)
    finally:
        model.train()
    mean_loss = sum(losses) / len(losses)
    return mean_loss, 100 * correct / n
