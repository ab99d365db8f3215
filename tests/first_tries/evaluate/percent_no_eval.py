# mistakes: missing-eval-mode, returns-tensor, accuracy-in-percent
# lines: 6, 16, 18
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader):
    total_loss = 0.0
    n_correct = 0
    n = 0
    for data, target in loader:
        output = model(data)
        # 배치 평균이니까 배치 크기를 곱해준다
        total_loss += loss_fn(output, target).item() * data.size(0)
        _, predicted = torch.max(output, 1)
        n_correct += (predicted == target).sum()
        n += target.size(0)
    acc = 100.0 * n_correct / n
    return total_loss / n, acc
