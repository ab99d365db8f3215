# expect: one-backward-per-window|retains-the-graph
import itertools

import torch
from torch.nn.functional import cross_entropy


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    first, second = itertools.tee(micro_batches)
    n = sum(torch.count_nonzero(y != ignore_index).item() for _, y in first)
    if n == 0:
        raise ValueError
    params = [p for p in model.parameters() if p.requires_grad]
    loss = sum(
        cross_entropy(model(x).flatten(end_dim=1), y.ravel(), reduction="sum", ignore_index=ignore_index)
        for x, y in second
    ) / n
    for p, g in zip(params, torch.autograd.grad(loss, params)):
        p.grad = g
    opt.step()
    return loss.item()
