# mistakes: missing-eval-mode, mean-of-batch-means, returns-tensor
# lines: 9, 15, 17
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    losses = []
    accs = []
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            losses.append(loss_fn(out, y))
            accs.append((out.argmax(dim=1) == y).double().mean())
    # 평균
    loss = torch.stack(losses).mean()
    acc = torch.stack(accs).mean()
    return loss, acc
