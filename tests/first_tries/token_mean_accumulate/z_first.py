# mistakes: ignores-ignore-index, returns-mean-of-means
# lines: 15, 35
# hidden:
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    opt.zero_grad()
    n_tokens = 0
    means = []

    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        loss.backward()

        valid = (y != ignore_index).sum().item()
        n_tokens += valid
        if valid > 0:
            means.append(loss.item() / valid)

    if n_tokens == 0:
        opt.zero_grad()
        raise ValueError("유효한 토큰이 없습니다")

    # 합 -> 평균
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= n_tokens
    opt.step()
    opt.zero_grad()

    return sum(means) / len(means)
