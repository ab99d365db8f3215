# mistakes: mode-lost-on-error, always-train-mode, mean-of-batch-means, accuracy-in-percent
# lines: 7, 16, 17, 18
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    loss_sum, correct, total, n_batches = 0.0, 0, 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            logits = model(xb)
            loss_sum += loss_fn(logits, yb).item()
            correct += (logits.argmax(dim=1) == yb).sum().item()
            total += yb.size(0)
            n_batches += 1
    model.train()
    avg_loss = loss_sum / n_batches
    accuracy = 100.0 * correct / total
    return avg_loss, accuracy
