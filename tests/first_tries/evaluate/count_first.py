# mistakes: exhausts-generator, always-train-mode, sums-losses
# lines: 8, 19, 20
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    # 전체 샘플 수
    n = sum(len(yb) for _, yb in loader)
    total_loss = 0.0
    n_correct = 0
    model.eval()
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                total_loss += loss_fn(logits, yb).item() * len(yb)
                n_correct += (logits.argmax(1) == yb).sum().item()
    finally:
        model.train()
    return total_loss, n_correct / n
