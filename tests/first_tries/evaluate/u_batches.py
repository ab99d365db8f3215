# mistakes: divides-by-batch-count
# lines: 21
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    modes = [m.training for m in model.modules()]
    model.eval()
    total_loss, total_correct, samples, batches = 0.0, 0, 0, 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                total_loss += loss_fn(logits, yb).item() * len(xb)
                total_correct += (logits.argmax(dim=1) == yb).sum().item()
                samples += len(xb)
                batches += 1
    finally:
        for m, mode in zip(model.modules(), modes):
            m.training = mode
    return total_loss / samples, total_correct / batches
