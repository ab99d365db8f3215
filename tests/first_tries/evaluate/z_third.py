# mistakes: mode-lost-on-error
# lines: 25
# hidden:
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    modes = [(module, module.training) for module in model.modules()]

    def restore():
        for module, mode in modes:
            module.training = mode

    loss_total = 0.0
    correct_total = 0
    seen = 0
    model.eval()
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss_total += loss_fn(logits, yb).item() * len(yb)
                correct_total += (logits.argmax(dim=1) == yb).sum().item()
                seen += len(yb)
    except Exception:
        restore()
        raise
    restore()
    return loss_total / seen, correct_total / seen
