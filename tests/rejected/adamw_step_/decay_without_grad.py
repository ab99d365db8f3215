# expect: decays-none
import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    # 감쇠는 업데이트 앞에서 한꺼번에
    for p in params:
        p.mul_(1 - lr * weight_decay)

    for i, (p, g) in enumerate(zip(params, grads)):
        if g is None:
            continue
        s = state.setdefault(i, None) or {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        state[i] = s
        s["step"] += 1
        s["exp_avg"].lerp_(g, 1 - b1)
        s["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
        m = s["exp_avg"] / (1 - b1 ** s["step"])
        v = s["exp_avg_sq"] / (1 - b2 ** s["step"])
        p.sub_(lr * m / (v.sqrt() + eps))
