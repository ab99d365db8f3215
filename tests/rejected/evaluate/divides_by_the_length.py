# expect: mean-of-batch-means+mode-lost-on-error+always-train-mode+divides-by-batch-count
import torch


def evaluate(model, loss_fn, loader):
    total_loss, num_correct = 0.0, 0
    model.eval()
    with torch.no_grad():
        for xb, yb in loader:
            logits = model(xb)
            total_loss += loss_fn(logits, yb).item()
            num_correct += (logits.argmax(dim=1) == yb).sum().item()
    model.train()
    return total_loss / len(loader), num_correct / len(loader)
