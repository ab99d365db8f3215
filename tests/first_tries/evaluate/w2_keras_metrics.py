# mistakes: mean-of-batch-means, accuracy-in-percent, always-train-mode, mode-lost-on-error
# lines: 18, 19, 20, 13
# hidden:
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    losses = []
    correct = 0
    count = 0
    for xb, yb in loader:
        y_pred = model(xb)
        losses.append(loss_fn(y_pred, yb).item())
        correct += (y_pred.argmax(dim=1) == yb).sum().item()
        count += len(yb)
    val_loss = sum(losses) / len(losses)
    val_acc = 100.0 * correct / count
    model.train()
    return val_loss, val_acc
