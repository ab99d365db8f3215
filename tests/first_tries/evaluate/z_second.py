# mistakes: mean-of-batch-means, mode-lost-on-error
# lines: 35, 40
# hidden:
import torch


class Meter:
    """값을 모아 평균을 내는 작은 도구"""

    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, value, n=1):
        self.total += value
        self.count += n

    def mean(self):
        return self.total / self.count


@torch.no_grad()
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    modes = {m: m.training for m in model.modules()}
    model.eval()

    loss_meter, acc_meter = Meter(), Meter()
    batches = iter(loader)
    while True:
        batch = next(batches, None)
        if batch is None:
            break
        xb, yb = batch
        logits = model(xb)
        loss_meter.add(loss_fn(logits, yb).item())
        hits = (logits.argmax(dim=-1) == yb).sum().item()
        acc_meter.add(hits, len(yb))

    # 모드를 되돌린다
    for m, mode in modes.items():
        m.training = mode
    return loss_meter.mean(), acc_meter.mean()
