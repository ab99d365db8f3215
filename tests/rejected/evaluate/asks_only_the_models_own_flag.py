# expect: 
import torch


def evaluate(model, loss_fn, loader):
    modes = [(m, m.training) for m in model.modules()]
    if model.training:  # submodules may train although the model itself does not
        model.eval()
    total, correct, n = 0.0, 0, 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                total += loss_fn(logits, yb).item() * len(xb)
                correct += (logits.argmax(1) == yb).sum().item()
                n += len(xb)
    finally:
        for module, training in modes:
            module.training = training
    return total / n, correct / n
