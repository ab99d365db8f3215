# mistakes: skips-empty-micro-batches
# lines: 18
# hidden:
import contextlib

import torch
from torch.nn import functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    kept = []
    n_valid = 0
    for x, y in micro_batches:
        device = y.device
        k = (y != ignore_index).sum().item()
        # 셀 것이 없는 배치는 계산할 필요가 없다
        if k > 0:
            kept.append((x, y))
            n_valid += k
    stats = torch.tensor([float(n_valid)], dtype=torch.float64, device=device)
    dist.all_reduce(stats)
    n_global = stats.item()
    if n_global == 0:
        raise ValueError("유효한 토큰이 없습니다.")
    opt.zero_grad()
    summed = 0.0
    for i, (x, y) in enumerate(kept):
        sync = i == len(kept) - 1
        with contextlib.nullcontext() if sync else ddp.no_sync():
            logits = ddp(x)
            loss = F.cross_entropy(
                logits.reshape(-1, logits.size(-1)), y.reshape(-1), ignore_index=ignore_index, reduction="sum"
            )
            (loss * dist.get_world_size() / n_global).backward()
        summed += loss.item()
    opt.step()
    result = torch.tensor([summed], dtype=torch.float64, device=device)
    dist.all_reduce(result)
    return result.item() / n_global
