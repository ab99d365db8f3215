# expect: leaves-eval-mode
from torch import inference_mode


def evaluate(model, loss_fn, loader):
    model.train(mode=False)
    with inference_mode():
        results = [(loss_fn(model(x), y).item(), (model(x).argmax(dim=1) == y).sum().item(), len(y)) for x, y in loader]
    n = sum(size for _, _, size in results)
    return sum(loss * size for loss, _, size in results) / n, sum(hits for _, hits, _ in results) / n
