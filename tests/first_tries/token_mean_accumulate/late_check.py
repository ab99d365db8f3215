# mistakes: missing-zero-grad, empty-window-steps, returns-sum
# lines: 13, 20, 22
import torch
from torch.nn import functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    data = [(x, y) for x, y in micro_batches]
    n_valid = 0
    for _, y in data:
        n_valid += int((y != ignore_index).sum())
    total = 0.0
    for x, y in data:
        out = model(x)
        b, t, v = out.shape
        loss = F.cross_entropy(out.reshape(b * t, v), y.reshape(b * t), ignore_index=ignore_index, reduction="sum")
        (loss / max(n_valid, 1)).backward()
        total += loss.item()
    opt.step()
    if n_valid == 0:
        raise ValueError("유효한 토큰이 없습니다")
    return total
