# mistakes: forgets-world-size, returns-own-loss, reduces-every-time
# lines: 24, 27, 19
# hidden:
import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    # 모든 rank의 유효한 토큰 수
    count = torch.tensor(sum((y != ignore_index).sum().item() for _, y in batches))
    dist.all_reduce(count)
    n = count.item()
    if n == 0:
        raise ValueError("유효한 토큰이 없습니다")

    opt.zero_grad()
    total = 0.0
    for x, y in batches:
        logits = ddp(x)
        loss = F.cross_entropy(
            logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
        )
        (loss / n).backward()
        total += loss.item()
    opt.step()
    return total / n
