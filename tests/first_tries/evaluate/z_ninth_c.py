# mistakes: restores-one-mode, missing-no-grad, mean-of-batch-means
# lines: 19, 27, 36
# hidden:
import torch


class _EvalMode:
    """with 안에서만 평가 모드"""

    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.was_training = self.model.training
        self.model.eval()
        return self.model

    def __exit__(self, *exc):
        self.model.train(self.was_training)
        return False


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    loss_total, acc_total = 0.0, 0.0
    n_samples, n_batches = 0, 0

    with _EvalMode(model) as net:
        for xb, yb in loader:
            logits = net(xb)
            loss = loss_fn(logits, yb)
            loss_total += loss.item() * len(yb)
            acc_total += (logits.argmax(dim=-1) == yb).float().mean().item()
            n_samples += len(yb)
            n_batches += 1

    return loss_total / n_samples, acc_total / n_batches
