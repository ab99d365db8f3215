# mistakes: stops-at-padding, ignores-ignore-index
# lines: 29, 32
# hidden:
import torch
import torch.nn.functional as F


class _RunningTotal:
    def __init__(self):
        self.loss_sum = 0.0
        self.tokens = 0

    def add(self, loss, tokens):
        self.loss_sum += loss
        self.tokens += tokens

    @property
    def mean(self):
        return self.loss_sum / self.tokens


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    totals = _RunningTotal()

    opt.zero_grad()
    for x, y in micro_batches:
        valid = int((y != ignore_index).sum())
        if valid == 0:
            break
        logits = model(x)
        # 합으로 역전파하고 나눗셈은 나중에 한 번만
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        loss.backward()
        totals.add(loss.item(), valid)

    if totals.tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")

    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.div_(totals.tokens)
    opt.step()
    opt.zero_grad()
    return totals.mean
