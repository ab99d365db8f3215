# mistakes: ignores-ignore-index, returns-mean-of-means
# lines: 15, 35
# hidden:
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    opt.zero_grad()
    valid_tokens = 0
    micro_means = []

    def one_micro_batch(x, y):
        logits = model(x)
        summed = F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1), reduction="sum")
        summed.backward()
        return summed.item(), int((y != ignore_index).sum())

    for x, y in micro_batches:
        loss_sum, n = one_micro_batch(x, y)
        valid_tokens += n
        if n > 0:
            micro_means.append(loss_sum / n)

    if valid_tokens == 0:
        opt.zero_grad()
        raise ValueError("유효한 토큰이 없습니다")

    # 합의 그레이디언트 -> 평균의 그레이디언트
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(valid_tokens)
    opt.step()
    opt.zero_grad()
    return sum(micro_means) / len(micro_means)
