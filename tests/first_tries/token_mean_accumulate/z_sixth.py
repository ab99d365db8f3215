# mistakes: ignores-ignore-index, returns-nan, returns-mean-of-means
# lines: 8, 20, 31
# hidden: returns-nan
import torch.nn.functional as F


def _valid(y):
    return int((y != -100).sum())


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    micro_batches = list(micro_batches)
    total = sum(_valid(y) for _, y in micro_batches)
    if total == 0:
        raise ValueError("유효한 토큰이 없습니다")

    def mean_loss(x, y):
        logits = model(x)
        vocab = logits.shape[-1]
        return F.cross_entropy(logits.reshape(-1, vocab), y.reshape(-1), ignore_index=ignore_index)

    opt.zero_grad()
    losses = []
    for x, y in micro_batches:
        loss = mean_loss(x, y)
        share = _valid(y) / total
        (loss * share).backward()
        losses.append(loss.item())
    opt.step()
    opt.zero_grad()
    return sum(losses) / len(losses)
