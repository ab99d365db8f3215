# mistakes: missing-no-grad, restores-one-mode, mean-of-batch-means
# lines: 11, 18, 19
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    losses = []
    accuracies = []
    count = 0
    try:
        for xb, yb in loader:
            scores = model(xb)
            loss = loss_fn(scores, yb)
            losses.append(loss.item() * len(yb))
            hits = scores.argmax(dim=1) == yb
            accuracies.append(hits.float().mean().item())
            count += len(yb)
    finally:
        model.train(was_training)
    return sum(losses) / count, sum(accuracies) / len(accuracies)
