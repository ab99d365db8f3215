# mistakes: restores-one-mode, mean-of-batch-means, mode-lost-on-error
# lines: 11, 34, 30
# hidden:
import torch


class ModeKeeper:
    """모듈들의 모드를 적어 두었다가 되돌린다"""

    def __init__(self, model):
        self.saved = [(m, m.training) for m in [model, *model.children()]]

    def restore(self):
        for m, flag in self.saved:
            m.train(flag)


@torch.no_grad()
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    keeper = ModeKeeper(model)
    model.eval()
    loss_total, n_samples = 0.0, 0
    accuracies = []
    try:
        for xb, yb in loader:
            logits = model(xb)
            loss_total += loss_fn(logits, yb).item() * len(yb)
            n_samples += len(yb)
            accuracies.append((logits.argmax(dim=1) == yb).float().mean().item())
    except Exception:
        keeper.restore()
        raise
    keeper.restore()
    return loss_total / n_samples, sum(accuracies) / len(accuracies)
