# mistakes: eval-outermost-only
# lines: 9
# hidden:
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.training = False
    loss_sum = 0.0
    n_correct = n_total = 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                out = model(xb)
                size = yb.size(0)
                loss_sum += loss_fn(out, yb).item() * size
                n_correct += (out.argmax(dim=-1) == yb).sum().item()
                n_total += size
    finally:
        model.training = was_training
    return loss_sum / n_total, n_correct / n_total
