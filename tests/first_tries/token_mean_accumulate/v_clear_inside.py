# mistakes: empty-window-passes, ignores-ignore-index|divides-by-all-tokens, zero-grad-every-micro-batch, returns-mean-of-means
# lines: 11, 13, 20, 29
# hidden:
import torch
from torch.nn.functional import cross_entropy


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = [(x, y) for x, y in micro_batches]
    if all((y == ignore_index).all() for _, y in window):
        return 0.0

    counts = torch.tensor([int((y != -100).sum()) for _, y in window])
    total = int(counts.sum())

    losses = []
    i = 0
    while i < len(window):
        x, y = window[i]
        opt.zero_grad()
        logits, target = model(x).flatten(0, 1), y.flatten()
        summed = cross_entropy(logits, target, ignore_index=ignore_index, reduction="sum")
        (summed / total).backward()
        n = int((y != ignore_index).sum())
        if n > 0:
            losses.append(summed.item() / n)
        i += 1
    opt.step()
    return sum(losses) / len(losses)
