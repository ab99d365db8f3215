# mistakes: restores-one-mode, mean-of-batch-means
# lines: 24, 19
# hidden:
import torch


class _Tally:
    def __init__(self):
        self.batch_losses = []
        self.correct = 0
        self.samples = 0

    def add(self, loss, logits, labels):
        self.batch_losses.append(loss.item())
        self.correct += (logits.argmax(dim=-1) == labels).sum().item()
        self.samples += len(labels)

    def result(self):
        mean_loss = sum(self.batch_losses) / len(self.batch_losses)
        return mean_loss, self.correct / self.samples


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    tally = _Tally()
    model.eval()
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                tally.add(loss_fn(logits, yb), logits, yb)
    finally:
        model.train(was_training)
    return tally.result()
