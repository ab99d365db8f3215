# mistakes: restores-one-mode, mean-of-batch-means
# lines: 23, 37
# hidden:
import torch


class _ModeKeeper:
    """with 블록을 나갈 때 모드를 되돌린다"""

    def __init__(self, model):
        self.model = model
        self.stack = []

    def __enter__(self):
        for module in self.model.modules():
            self.stack.append((module, module.training))
        self.model.eval()

    def __exit__(self, *exc):
        # 쌓은 것을 위에서부터 꺼낸다
        while self.stack:
            module, was_training = self.stack.pop()
            module.train(was_training)
        return False


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    loss_total, sample_count = 0.0, 0
    accuracies = []
    with _ModeKeeper(model), torch.no_grad():
        for xb, yb in loader:
            logits = model(xb)
            size = len(yb)
            loss_total += loss_fn(logits, yb).item() * size
            sample_count += size
            accuracies.append((logits.argmax(dim=-1) == yb).float().mean().item())
    return loss_total / sample_count, sum(accuracies) / len(accuracies)
