# mistakes: 가장 큰 로짓의 자리가 아니라 로짓 값을 정답과 비교함
# lines: 15
import torch


def evaluate(model, loss_fn, loader):
    before = {m: m.training for m in model.modules()}
    model.eval()
    loss_sum, right, seen = 0.0, 0, 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss_sum += loss_fn(logits, yb).item() * len(yb)
                pred = logits.max(dim=1)[0]
                right += (pred == yb).sum().item()
                seen += len(yb)
    finally:
        for m, mode in before.items():
            m.training = mode
    return loss_sum / seen, right / seen
