# mistakes: missing-no-grad, always-train-mode, mean-of-batch-means
# lines: 12, 18, 19
import torch


def evaluate(model, loss_fn, loader):
    model.eval()
    losses = []
    correct, total = 0, 0
    try:
        for xb, yb in loader:
            logits = model(xb)
            losses.append(loss_fn(logits, yb).item())
            pred = logits.argmax(dim=1)
            correct += (pred == yb).sum().item()
            total += yb.size(0)
    finally:
        model.train()
    mean_loss = sum(losses) / len(losses)
    return mean_loss, correct / total
