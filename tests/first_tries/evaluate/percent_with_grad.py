# mistakes: missing-no-grad, restores-one-mode, accuracy-in-percent
# lines: 11, 19, 20
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    total_loss, correct, total = 0.0, 0, 0
    try:
        for data, target in loader:
            output = model(data)
            batch_size = target.size(0)
            total_loss += loss_fn(output, target).item() * batch_size
            _, predicted = torch.max(output, 1)
            correct += (predicted == target).sum().item()
            total += batch_size
    finally:
        model.train(was_training)
    accuracy = 100.0 * correct / total
    return total_loss / total, accuracy
