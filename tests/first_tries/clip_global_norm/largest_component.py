# mistakes: by-value, max-abs-norm, returns-tensor
# lines: 20, 14, 21
import torch


def clip_global_norm(params, max_norm):
    grads = []
    for p in params:
        if p.grad is None:
            continue
        grads.append(p.grad)

    # 가장 큰 성분을 찾는다
    biggest = torch.stack([g.abs().max() for g in grads]).max()
    if not torch.isfinite(biggest):
        raise RuntimeError("inf or nan in gradients")

    if biggest > max_norm:
        for g in grads:
            g.clamp_(-max_norm, max_norm)
    return biggest
