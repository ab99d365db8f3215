# mistakes: shifts-targets
# lines: 16
# hidden:
import contextlib

import torch
import torch.nn.functional as F


def _token_loss(logits, y, ignore_index):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    # t번째 로짓은 t+1번째 토큰을 맞힌다
    batches = [(x, y[:, 1:]) for x, y in micro_batches]
    device = batches[0][1].device
    n = torch.tensor(float(sum((y != ignore_index).sum().item() for _, y in batches)), dtype=torch.float64, device=device)
    dist.all_reduce(n)
    n = n.item()
    if n == 0:
        raise ValueError("no valid tokens")
    opt.zero_grad()
    s = torch.tensor(0.0, dtype=torch.float64, device=device)
    for i, (x, y) in enumerate(batches):
        with contextlib.nullcontext() if i + 1 == len(batches) else ddp.no_sync():
            loss = _token_loss(ddp(x)[:, :-1], y, ignore_index)
            (loss * dist.get_world_size() / n).backward()
        s += loss.item()
    opt.step()
    dist.all_reduce(s)
    return s.item() / n
