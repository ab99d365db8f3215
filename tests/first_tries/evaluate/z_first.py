# mistakes: mode-lost-on-error, mean-of-batch-means
# lines: 30, 27
# hidden:
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    modes = [(m, m.training) for m in model.modules()]

    def put_back():
        for m, flag in modes:
            m.training = flag

    model.eval()
    loss_sum = 0.0
    acc_sum = 0.0
    n = 0
    n_batches = 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss_sum += loss_fn(logits, yb).item() * len(yb)
                hit = (logits.argmax(dim=-1) == yb).float()
                acc_sum += hit.mean().item()
                n += len(yb)
                n_batches += 1
    except Exception:
        put_back()
        raise

    put_back()
    return loss_sum / n, acc_sum / n_batches
