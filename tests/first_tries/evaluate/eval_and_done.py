# mistakes: leaves-eval-mode, missing-no-grad
# lines: 12, 6
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    total_loss, correct, n = 0.0, 0, 0
    for xb, yb in loader:
        logits = model(xb)
        loss = loss_fn(logits, yb)
        total_loss += loss.item() * len(yb)
        correct += (logits.argmax(dim=1) == yb).sum().item()
        n += len(yb)
    return total_loss / n, correct / n
