# mistakes: consumes-generator, returns-last-loss
# lines: 12, 22
import torch
from torch import nn


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    criterion = nn.CrossEntropyLoss(ignore_index=ignore_index, reduction="sum")
    opt.zero_grad()

    n_tokens = 0
    for _, y in micro_batches:
        n_tokens += (y != ignore_index).sum().item()
    if n_tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")

    running = 0.0
    for x, y in micro_batches:
        logits = model(x)
        loss = criterion(logits.reshape(-1, logits.size(-1)), y.reshape(-1)) / n_tokens
        loss.backward()
        running = loss.item()
    opt.step()
    return running
