# mistakes: 유효한 토큰을 ignore_index가 아니라 0 이상인 것으로 셈(ignore_index가 양수이면 틀림)
# lines: 8
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = list(micro_batches)
    count = sum((y >= 0).sum().item() for _, y in window)
    if count == 0:
        raise ValueError("no valid token")
    opt.zero_grad()
    total = 0.0
    for x, y in window:
        if (y == ignore_index).all():
            continue
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
        (loss / count).backward()
        total += loss.item()
    opt.step()
    return total / count
