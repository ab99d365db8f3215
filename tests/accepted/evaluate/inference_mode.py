import torch


def evaluate(model, loss_fn, loader):
    before = {m: m.training for m in model.modules()}
    model.eval()
    loss_sum, correct, n = 0.0, 0, 0
    try:
        with torch.inference_mode():
            for xb, yb in loader:
                out = model(xb)
                loss_sum += float(loss_fn(out, yb)) * yb.numel()
                correct += int((out.argmax(-1) == yb).sum())
                n += yb.numel()
    finally:
        for m, t in before.items():
            m.train(t) if not list(m.children()) else setattr(m, "training", t)
    return loss_sum / n, correct / n
