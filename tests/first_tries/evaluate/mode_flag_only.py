# mistakes: restores-one-mode, mode-lost-on-error, mean-of-batch-means
# lines: 11, 22, 23
import torch


def batch_accuracy(logits, labels):
    return (logits.argmax(-1) == labels).float().mean().item()


def evaluate(model, loss_fn, loader):
    was_training = model.training
    model.eval()
    loss_sum, n_samples = 0.0, 0
    accs = []
    with torch.inference_mode():
        for x, y in loader:
            logits = model(x)
            loss_sum += loss_fn(logits, y).item() * len(x)
            n_samples += len(x)
            accs.append(batch_accuracy(logits, y))
    # 원래 모드로 되돌리기
    model.train(was_training)
    return loss_sum / n_samples, sum(accs) / len(accs)
