# mistakes: returns-loss-after-update
# lines: 24
# hidden:
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    data = list(micro_batches)
    n = sum((y != ignore_index).sum().item() for _, y in data)
    if n == 0:
        raise ValueError("no valid token in the window")

    def token_loss(x, y):
        logits = model(x)
        return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum") / n

    opt.zero_grad()
    for x, y in data:
        token_loss(x, y).backward()
    opt.step()
    opt.zero_grad()
    with torch.no_grad():
        return sum(token_loss(x, y).item() for x, y in data)
