# mistakes: restores-one-mode
# lines: 22
# hidden:
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    total_loss = 0.0
    correct = 0
    count = 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss = loss_fn(logits, yb)
                total_loss += loss.item() * len(xb)
                correct += (logits.argmax(dim=-1) == yb).sum().item()
                count += len(xb)
    finally:
        model.train(was_training)
    return total_loss / count, correct / count
