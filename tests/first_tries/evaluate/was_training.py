# mistakes: mode-lost-on-error, restores-one-mode
# lines: 17, 8
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    s, c, n = 0.0, 0, 0
    for xb, yb in loader:
        logits = model(xb)
        b = len(xb)
        s += float(loss_fn(logits, yb)) * b
        c += int((logits.argmax(dim=1) == yb).sum())
        n += b
    model.train(was_training)
    return s / n, c / n
