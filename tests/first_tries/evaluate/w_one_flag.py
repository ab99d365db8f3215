# mistakes: restores-one-mode, mode-lost-on-error, mean-of-batch-means, returns-tensor
# lines: 18, 12, 16, 19
# hidden:
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader):
    was_training = model.training
    model.eval()
    loss_sum, acc_sum, n, batches = 0.0, 0.0, 0, 0
    for xb, yb in loader:
        out = model(xb)
        loss_sum += loss_fn(out, yb).item() * len(xb)
        n += len(xb)
        acc_sum += (out.argmax(dim=1) == yb).float().mean()
        batches += 1
    model.train(was_training)  # 원래 모드로
    return loss_sum / n, acc_sum / batches
