# mistakes: restores-one-mode, last-batch-only-loss, swallows-error, unlisted(prints)
# lines: 7, 16, 19, 20
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    mode = model.training
    model.eval()
    loss_value = 0.0
    correct, seen = 0, 0
    try:
        for xb, yb in loader:
            with torch.no_grad():
                logits = model(xb)
                loss = loss_fn(logits, yb)
            loss_value = loss.item()
            correct += (logits.argmax(dim=1) == yb).sum().item()
            seen += len(yb)
    except Exception as e:
        print("오류:", e)
    finally:
        model.train(mode)
    return loss_value, correct / max(seen, 1)
