# mistakes: ignores-ignore-index, returns-sum, missing-zero-grad, empty-window-passes
# lines: 9, 26, 19, 16
import torch
import torch.nn as nn


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    criterion = nn.CrossEntropyLoss(reduction="sum")

    # 먼저 유효한 토큰을 센다
    n_tokens = 0
    for _, y in batches:
        n_tokens += (y != -100).sum().item()
    if n_tokens == 0:
        return 0.0

    total = 0.0
    for x, y in batches:
        logits = model(x)
        b, t, v = logits.shape
        loss = criterion(logits.view(b * t, v), y.reshape(b * t))
        (loss / n_tokens).backward()
        total += loss.item()
    opt.step()
    return total
