# mistakes: restores-one-mode, mode-lost-on-error, missing-no-grad, last-batch-only-accuracy, swapped-returns
# lines: 6, 12, 13, 16, 19
# hidden:
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    # 원래 모드를 기억해 둔다
    was_training = model.training
    model.eval()

    loss_sum = 0.0
    count = 0
    acc = 0.0
    for xb, yb in loader:
        logits = model(xb)
        loss_sum += loss_fn(logits, yb).item() * len(xb)
        count += len(xb)
        acc = (logits.argmax(dim=1) == yb).float().mean().item()

    model.train(was_training)
    return acc, loss_sum / count
