import torch


def evaluate(model, loss_fn, loader):
    was = {name: m.training for name, m in model.named_modules()}
    grad = torch.is_grad_enabled()
    total_loss = torch.zeros(())
    right = torch.zeros((), dtype=torch.long)
    n = 0
    try:
        model.eval()
        torch.set_grad_enabled(False)
        for xb, yb in loader:
            out = model(xb)
            total_loss += loss_fn(out, yb) * len(yb)
            right += (out.softmax(dim=1).argmax(dim=1) == yb).sum()
            n += len(yb)
    finally:
        torch.set_grad_enabled(grad)
        for name, m in model.named_modules():
            m.training = was[name]
    return (total_loss / n).item(), (right / n).item()
