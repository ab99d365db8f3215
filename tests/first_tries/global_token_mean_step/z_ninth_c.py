# mistakes: forgets-world-size, returns-own-loss
# lines: 39, 44
# hidden:
from contextlib import nullcontext

import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    device = batches[0][1].device

    def sum_over_ranks(number):
        t = torch.tensor(float(number), dtype=torch.float64, device=device)
        dist.all_reduce(t)
        return t.item()

    def micro_sum(x, y):
        logits = ddp(x)
        return F.cross_entropy(
            logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
        )

    mine = sum((y != ignore_index).sum().item() for _, y in batches)
    everyone = sum_over_ranks(mine)
    if everyone == 0:
        raise ValueError("no valid tokens on any rank")

    opt.zero_grad()
    loss_sum = 0.0
    *front, last = batches
    for x, y in front:
        with ddp.no_sync():
            s = micro_sum(x, y)
            (s / everyone).backward()
        loss_sum += s.item()
    s = micro_sum(*last)
    (s / everyone).backward()
    loss_sum += s.item()

    opt.step()
    opt.zero_grad()
    return loss_sum / everyone
