# mistakes: forgets-world-size, returns-own-loss
# lines: 35, 39
# hidden:
import contextlib

import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    data = list(micro_batches)
    device = data[0][1].device

    valid = torch.zeros((), dtype=torch.int64, device=device)
    for _, y in data:
        valid += (y != ignore_index).sum()
    dist.all_reduce(valid)
    tokens = valid.item()
    if tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")

    opt.zero_grad()
    mean_loss = 0.0
    last = len(data) - 1
    for j in range(len(data)):
        x, y = data[j]
        with contextlib.ExitStack() as stack:
            if j != last:
                stack.enter_context(ddp.no_sync())
            logits = ddp(x)
            nll = F.cross_entropy(
                logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
            )
            share = nll / tokens
            share.backward()
        mean_loss += share.item()

    opt.step()
    return mean_loss
