# mistakes: forgets-world-size, reduces-every-time, returns-own-loss
# lines: 18, 20, 26
# hidden:
import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    micro_batches = list(micro_batches)
    count = torch.tensor(sum((y != ignore_index).sum().item() for _, y in micro_batches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("유효한 토큰이 없습니다")
    opt.zero_grad()
    total = torch.zeros(())
    for i, (x, y) in enumerate(micro_batches):
        logits = ddp(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum") / count
        if i + 1 < len(micro_batches):
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()
        total += loss.detach()
    opt.step()
    return total.item()
