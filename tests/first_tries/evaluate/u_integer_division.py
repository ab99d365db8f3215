# mistakes: integer-division
# lines: 17
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    saved = {module: module.training for module in model.modules()}
    model.eval()
    try:
        loss_sum, hits, n = 0.0, 0, 0
        for x, y in loader:
            out = model(x)
            loss_sum += loss_fn(out, y).item() * y.numel()
            hits += (out.argmax(dim=1) == y).sum().item()
            n += y.numel()
        accuracy = float(hits // n)
        return loss_sum / n, accuracy
    finally:
        for module, mode in saved.items():
            module.training = mode
