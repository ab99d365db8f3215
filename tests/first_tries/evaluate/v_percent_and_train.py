# mistakes: always-train-mode, mode-lost-on-error, mean-of-batch-means, accuracy-in-percent
# lines: 19, 11, 17, 18
# hidden:
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    test_loss, correct, size, num_batches = 0.0, 0, 0, 0
    for X, y in loader:
        pred = model(X)
        test_loss += loss_fn(pred, y).item()
        correct += (pred.argmax(1) == y).sum().item()
        size += len(y)
        num_batches += 1
    test_loss /= num_batches
    accuracy = 100 * correct / size
    model.train()
    return test_loss, accuracy
