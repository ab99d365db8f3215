# mistakes: restores-one-mode, missing-no-grad, mode-lost-on-error, accuracy-in-percent
# lines: 7, 13, 17, 18
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    total_loss = 0.0
    correct = 0
    n = 0
    for xb, yb in loader:
        logits = model(xb)
        total_loss += loss_fn(logits, yb).item() * len(yb)
        correct += (logits.argmax(dim=1) == yb).sum().item()
        n += len(yb)
    model.train(was_training)
    return total_loss / n, 100 * correct / n
