# mistakes: ignores-ignore-index, consumes-generator, returns-last-loss
# lines: 9, 15, 23
import torch.nn.functional as F


def count_tokens(batches):
    total = 0
    for _, y in batches:
        total += int((y != -100).sum())
    return total


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    opt.zero_grad()
    n_tokens = count_tokens(micro_batches)
    if n_tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")
    loss_value = 0.0
    for x, y in micro_batches:
        logits = model(x).flatten(0, 1)
        loss = F.cross_entropy(logits, y.flatten(), ignore_index=ignore_index, reduction="sum") / n_tokens
        loss.backward()
        loss_value = loss.item()
    opt.step()
    return loss_value
