# mistakes: ignores-ignore-index, stops-at-padding, returns-mean-of-means
# lines: 11, 24, 38
# hidden:
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    def summed_loss(x, y):
        logits = model(x)
        return F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")

    def backward_one(x, y):
        loss = summed_loss(x, y)
        loss.backward()
        return loss.item()

    opt.zero_grad()
    token_count = 0
    averages = []
    for x, y in micro_batches:
        valid = int((y != ignore_index).sum())
        if valid == 0:
            break
        averages.append(backward_one(x, y) / valid)
        token_count += valid

    if token_count == 0:
        raise ValueError("유효한 토큰이 하나도 없습니다")

    # 합으로 쌓은 그레이디언트를 토큰 수로 나눈다
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.div_(token_count)
    opt.step()
    opt.zero_grad()
    return sum(averages) / len(averages)
