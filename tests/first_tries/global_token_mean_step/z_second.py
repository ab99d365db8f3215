# mistakes: forgets-world-size
# lines: 34
# hidden:
from contextlib import nullcontext

import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    def sum_over_ranks(value, device):
        t = torch.tensor(float(value), dtype=torch.float64, device=device)
        dist.all_reduce(t)
        return t.item()

    def token_loss_sum(x, y):
        logits = ddp(x)
        return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")

    micro = list(micro_batches)
    device = micro[0][1].device
    local_tokens = sum((y != ignore_index).sum().item() for _, y in micro)
    global_tokens = sum_over_ranks(local_tokens, device)
    if global_tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")

    opt.zero_grad()
    local_loss = 0.0
    for i, (x, y) in enumerate(micro):
        is_last = i == len(micro) - 1
        with nullcontext() if is_last else ddp.no_sync():
            loss = token_loss_sum(x, y)
            # 전체 토큰 수로 나누면 평균
            (loss / global_tokens).backward()
        local_loss += loss.item()

    mean_loss = sum_over_ranks(local_loss, device) / global_tokens
    opt.step()
    return mean_loss
