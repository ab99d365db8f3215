# mistakes: modules()가 아니라 children()의 모드만 적어 두었다가 되돌림
# lines: 8
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader):
    modes = [(m, m.training) for m in model.children()]
    model.eval()
    total = correct = count = 0
    try:
        for xb, yb in loader:
            out = model(xb)
            total += loss_fn(out, yb).item() * xb.size(0)
            correct += (out.argmax(1) == yb).sum().item()
            count += xb.size(0)
    finally:
        for m, mode in modes:
            m.training = mode
    return total / count, correct / count
