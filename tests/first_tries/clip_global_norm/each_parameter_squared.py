# mistakes: per-parameter-norm, squares-not-rooted
# lines: 18, 21
import torch


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]

    # 돌려줄 전체 노름
    total = torch.tensor(0.0)
    for g in grads:
        total = total + (g ** 2).sum()
    if torch.isnan(total) or torch.isinf(total):
        raise RuntimeError("노름이 이상합니다")

    # 자르기
    for g in grads:
        coef = max_norm / (g.norm() + 1e-6)
        if coef < 1:
            g.mul_(coef)
    return total.item()
