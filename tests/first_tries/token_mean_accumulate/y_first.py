# mistakes: ignores-ignore-index, returns-mean-of-means
# lines: 17, 23
# hidden:
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = [(x, y, int((y != ignore_index).sum())) for x, y in micro_batches]
    n_tokens = sum(n for _, _, n in window)
    if n_tokens == 0:
        raise ValueError("유효한 토큰이 없습니다")

    opt.zero_grad()
    means = []
    for x, y, n in window:
        logits = model(x)
        total = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        (total / n_tokens).backward()
        if n > 0:
            means.append(total.item() / n)

    opt.step()
    return sum(means) / len(means)
