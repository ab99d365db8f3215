# mistakes: forgets-world-size
# lines: 35
# hidden:
from contextlib import nullcontext

import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    device = batches[0][1].device

    def sum_over_ranks(number, dtype):
        box = torch.tensor([number], dtype=dtype, device=device)
        dist.all_reduce(box)
        return box.item()

    def token_loss_sum(x, y):
        logits = ddp(x)
        return F.cross_entropy(
            logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
        )

    local_tokens = sum(int((y != ignore_index).sum()) for _, y in batches)
    tokens = sum_over_ranks(local_tokens, torch.int64)
    if tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")

    opt.zero_grad()
    local_loss = 0.0
    for number, (x, y) in enumerate(batches, start=1):
        with nullcontext() if number == len(batches) else ddp.no_sync():
            loss_sum = token_loss_sum(x, y)
            (loss_sum / tokens).backward()
        local_loss += loss_sum.item()
    opt.step()
    return sum_over_ranks(local_loss, torch.float64) / tokens
