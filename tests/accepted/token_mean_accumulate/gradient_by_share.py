import torch
from torch import nn


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = [(x, y, int(y.ne(ignore_index).sum())) for x, y in micro_batches]
    tokens = sum(count for _, _, count in window)
    if not tokens:
        raise ValueError(f"no valid token in {len(window)} micro-batches")
    summed = nn.CrossEntropyLoss(ignore_index=ignore_index, reduction="sum")
    model.zero_grad()
    mean = 0.0
    for x, y, count in window:
        if count:
            loss = summed(model(x).transpose(1, 2), y)
            loss.backward(torch.full_like(loss, 1 / tokens))
            mean += loss.item() / tokens
    opt.step()
    return mean
