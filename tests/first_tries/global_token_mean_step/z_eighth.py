# mistakes: forgets-world-size
# lines: 28
# hidden:
import contextlib

import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    opt.zero_grad()
    batches = [(x, y) for x, y in micro_batches]

    # 모든 rank의 유효한 토큰 수
    total = torch.stack([(y != ignore_index).sum() for _, y in batches]).sum().reshape(1)
    dist.all_reduce(total)
    total = total.item()
    if total == 0:
        raise ValueError("유효한 토큰이 없습니다")

    loss_sum = torch.zeros(1, dtype=torch.float64, device=batches[0][1].device)
    for i, (x, y) in enumerate(batches):
        is_last = i == len(batches) - 1
        with contextlib.nullcontext() if is_last else ddp.no_sync():
            loss = F.cross_entropy(
                ddp(x).flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
            )
            (loss / total).backward()
        loss_sum += loss.detach()
        del loss

    opt.step()
    dist.all_reduce(loss_sum)
    return loss_sum.item() / total
