# mistakes: missing-sample-weight, always-train-mode, mode-lost-on-error, accuracy-in-percent
# lines: 14, 18, 18, 19
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    loss_sum = 0.0
    correct = 0
    total = 0
    with torch.no_grad():
        for xb, yb in loader:
            outputs = model(xb)
            loss_sum += loss_fn(outputs, yb).item()
            pred = outputs.argmax(dim=1)
            correct += (pred == yb).sum().item()
            total += yb.size(0)
    model.train()
    return loss_sum / total, 100 * correct / total
