# mistakes: always-train-mode, mean-of-batch-means
# lines: 16, 17
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    losses, accs = [], []
    try:
        with torch.no_grad():
            for xb, yb in loader:
                out = model(xb)
                losses.append(loss_fn(out, yb).item())
                accs.append((out.argmax(dim=1) == yb).float().mean().item())
    finally:
        model.train()
    mean_loss = sum(losses) / len(losses)
    acc = sum(accs) / len(accs)
    return mean_loss, acc
