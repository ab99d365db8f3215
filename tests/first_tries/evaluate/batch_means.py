# mistakes: mode-lost-on-error, always-train-mode, mean-of-batch-means
# lines: 12, 17, 18
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    val_loss = 0.0
    val_acc = 0.0
    batches = 0
    with torch.no_grad():
        for xb, yb in loader:
            out = model(xb)
            val_loss += loss_fn(out, yb).item()
            val_acc += (out.argmax(dim=1) == yb).float().mean().item()
            batches += 1
    model.train()
    avg_loss = val_loss / batches
    avg_acc = val_acc / batches
    return avg_loss, avg_acc
