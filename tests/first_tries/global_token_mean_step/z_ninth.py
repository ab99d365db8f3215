# mistakes: ignores-ignore-index
# lines: 24
# hidden:
from contextlib import nullcontext

import torch
import torch.nn.functional as F


def sum_over_ranks(dist, number, device):
    box = torch.tensor(float(number), dtype=torch.float64, device=device)
    dist.all_reduce(box, op=dist.ReduceOp.SUM)
    return box.item()


def token_loss_sum(ddp, x, y, ignore_index):
    logits = ddp(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    device = batches[0][1].device
    my_tokens = sum(int((y != -100).sum()) for _, y in batches)
    all_tokens = sum_over_ranks(dist, my_tokens, device)
    if all_tokens == 0:
        raise ValueError("유효한 토큰이 하나도 없습니다")

    # DDP는 rank들의 평균을 내므로 rank 수를 곱해 둔다
    scale = dist.get_world_size() / all_tokens
    opt.zero_grad()
    my_loss = 0.0
    *front, last = batches
    with ddp.no_sync():
        for x, y in front:
            loss = token_loss_sum(ddp, x, y, ignore_index)
            (loss * scale).backward()
            my_loss += loss.item()
    with nullcontext():
        x, y = last
        loss = token_loss_sum(ddp, x, y, ignore_index)
        (loss * scale).backward()
        my_loss += loss.item()
    opt.step()
    return sum_over_ranks(dist, my_loss, device) / all_tokens
