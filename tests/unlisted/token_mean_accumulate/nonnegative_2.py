# mistakes: 유효한 토큰을 ignore_index가 아니라 0 이상인지로 셈 (ignore_index가 0 이상이면 틀림)
# lines: 8
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = list(micro_batches)
    valid = sum(int((y >= 0).sum()) for _, y in window)
    if valid == 0:
        raise ValueError("no valid token in the window")
    opt.zero_grad()
    total = 0.0
    for x, y in window:
        logits = model(x)
        loss = F.cross_entropy(
            logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
        )
        (loss / valid).backward()
        total += loss.item()
    opt.step()
    return total / valid
