import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    """한 번만 돌면서 합의 그레이디언트를 모으고, 마지막에 나눕니다."""
    opt.zero_grad(set_to_none=False)
    tokens, total = 0, 0.0
    for x, y in micro_batches:
        logits = model(x)
        losses = F.cross_entropy(logits.permute(0, 2, 1), y, ignore_index=ignore_index, reduction="none")
        losses.sum().backward()
        total += losses.sum().item()
        tokens += y.ne(ignore_index).sum().item()
    if tokens == 0:
        opt.zero_grad()
        raise ValueError("구간에 토큰이 없습니다")
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.div_(tokens)
    opt.step()
    return total / tokens
