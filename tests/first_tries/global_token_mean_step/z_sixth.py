# mistakes: averages-the-ranks
# lines: 49
# hidden:
from contextlib import nullcontext

import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    world_size = dist.get_world_size()

    def sum_over_ranks(value, device):
        box = torch.tensor([value], dtype=torch.float64, device=device)
        dist.all_reduce(box)
        return box.item()

    def mean_over_ranks(value, device):
        return sum_over_ranks(value, device) / world_size

    batches = list(micro_batches)
    device = batches[0][1].device
    my_tokens = sum(int((y != ignore_index).sum()) for _, y in batches)
    all_tokens = sum_over_ranks(my_tokens, device)
    if all_tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")

    opt.zero_grad()
    my_loss_sum = 0.0
    *front, last = batches

    def push(batch):
        x, y = batch
        logits = ddp(x)
        loss_sum = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
        # DDP가 rank 수로 나누므로 미리 곱해 둔다
        (loss_sum * world_size / all_tokens).backward()
        return loss_sum.item()

    for batch in front:
        with ddp.no_sync():
            my_loss_sum += push(batch)
    with nullcontext():
        my_loss_sum += push(last)

    opt.step()
    opt.zero_grad()
    my_mean = my_loss_sum / max(my_tokens, 1)
    return mean_over_ranks(my_mean, device)
