import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    total_loss = 0.0
    number_of_batches = 0
    number_of_correct = 0
    number_of_samples = 0
    with torch.no_grad():
        for (x, y) in loader:
            logits = model(x)
            total_loss += loss_fn(logits, y).item()
            number_of_batches += 1
            number_of_correct += int((logits.argmax(dim=1) == y).sum())
            number_of_samples += y.shape[0]
    model.train(was_training)  # here: mode-lost-on-error, restores-one-mode
    average_loss = total_loss / number_of_batches  # here: mean-of-batch-means
    accuracy = number_of_correct / number_of_samples
    return accuracy, average_loss  # here: swapped-returns
