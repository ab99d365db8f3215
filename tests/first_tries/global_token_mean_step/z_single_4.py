# mistakes: divides-by-count-too
# lines: 30
# hidden:
from contextlib import nullcontext

import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    micro_batches = list(micro_batches)
    accum = len(micro_batches)
    device = micro_batches[0][1].device

    def all_sum(value):
        t = torch.tensor(float(value), dtype=torch.float64, device=device)
        dist.all_reduce(t)
        return t.item()

    n_tokens = all_sum(sum((y != ignore_index).sum().item() for _, y in micro_batches))
    if n_tokens == 0:
        raise ValueError("every target is ignored")
    opt.zero_grad()
    local_sum = 0.0
    for step, (x, y) in enumerate(micro_batches, 1):
        with nullcontext() if step == accum else ddp.no_sync():
            out = ddp(x)
            loss = F.cross_entropy(out.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
            scaled = loss * dist.get_world_size() / n_tokens
            (scaled / accum).backward()
        local_sum += loss.item()
    opt.step()
    return all_sum(local_sum) / n_tokens
