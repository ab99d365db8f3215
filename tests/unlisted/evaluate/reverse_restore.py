# mistakes: 모드를 거꾸로 되돌려 부모의 train(mode)가 자식의 모드를 덮음
# lines: 18
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    total, correct, seen = 0.0, 0, 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                total += loss_fn(logits, yb).item() * len(yb)
                correct += (logits.argmax(dim=1) == yb).sum().item()
                seen += len(yb)
    finally:
        for m, mode in reversed(modes):
            m.train(mode)
    return total / seen, correct / seen
