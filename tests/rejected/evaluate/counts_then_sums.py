# expect: exhausts-generator
import torch


def evaluate(model, loss_fn, loader):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    hits, n, loss = 0, 0, 0.0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                hits += (model(xb).argmax(1) == yb).sum().item()
                n += len(yb)
            for xb, yb in loader:
                loss += loss_fn(model(xb), yb).item() * len(yb)
    finally:
        for module, training in modes:
            module.training = training
    return loss / n, hits / n
