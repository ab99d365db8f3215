# expect: accuracy-in-percent+leaves-eval-mode
import torch


def evaluate(model, loss_fn, loader):
    model.eval()
    loss_sum = correct = n = 0
    for xb, yb in loader:
        with torch.no_grad():
            logits = model(xb)
            loss_sum += loss_fn(logits, yb).item() * yb.shape[0]
        correct += torch.eq(logits.argmax(1), yb).sum().item()
        n += yb.shape[0]
    return loss_sum / n, 100.0 * correct / n
