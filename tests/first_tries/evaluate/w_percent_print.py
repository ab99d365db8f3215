# mistakes: always-train-mode, missing-no-grad, mean-of-batch-means, accuracy-in-percent
# lines: 24, 15, 17, 26
# hidden:
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()
    total_loss = 0.0
    correct = 0
    n_batches = 0
    n_samples = 0
    try:
        for xb, yb in loader:
            logits = model(xb)
            loss = loss_fn(logits, yb)
            total_loss += loss.item()
            n_batches += 1
            # 가장 점수가 큰 클래스를 고른다
            correct += (logits.argmax(dim=1) == yb).sum().item()
            n_samples += len(yb)
    finally:
        # 끝나면 다시 학습 모드
        model.train()
    avg_loss = total_loss / n_batches
    accuracy = 100 * correct / n_samples
    return avg_loss, accuracy
