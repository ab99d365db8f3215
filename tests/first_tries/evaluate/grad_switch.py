# mistakes: leaves-eval-mode, leaves-grad-off, swapped-returns, accuracy-is-a-count
# lines: 19, 8, 19, 19
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    model.eval()                       # 평가 모드
    torch.set_grad_enabled(False)      # 그래프를 만들지 않는다
    total = 0
    right = 0
    loss_total = 0.0
    for batch in loader:
        xb, yb = batch
        logits = model(xb)
        loss_total += loss_fn(logits, yb).item() * xb.shape[0]
        right += (torch.argmax(logits, dim=1) == yb).sum().item()
        total += xb.shape[0]
    mean_loss = loss_total / total
    return right, mean_loss
