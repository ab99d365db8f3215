# mistakes: divides-by-all-tokens, consumes-generator, refuses-empty-micro-batch, returns-tensor
# lines: 16, 22, 14, 29

import torch
from torch import nn


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    ce = nn.CrossEntropyLoss(reduction="sum", ignore_index=ignore_index)

    # 먼저 전체 토큰 개수를 센다
    n_tokens = 0
    for _, y in micro_batches:
        if (y != ignore_index).sum() == 0:
            raise ValueError("no valid tokens")
        n_tokens += y.numel()
    if n_tokens == 0:
        raise ValueError("empty window")

    opt.zero_grad()
    total = torch.zeros(())
    for x, y in micro_batches:
        out = model(x)
        loss = ce(out.flatten(0, 1), y.flatten()) / n_tokens
        loss.backward()
        total += loss.detach()

    opt.step()
    return total
