# mistakes: eps-inside-root, decays-none
# lines: 27, 12
# hidden:
import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    beta1, beta2 = betas
    for i, (p, g) in enumerate(zip(params, grads)):
        # 감쇠는 그레이디언트와 따로
        p.mul_(1 - lr * weight_decay)
        if g is None:
            continue

        if i not in state:
            state[i] = {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        s = state[i]
        s["step"] += 1
        t = s["step"]
        s["exp_avg"].mul_(beta1).add_(g, alpha=1 - beta1)
        s["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)

        # 편향 보정
        m_hat = s["exp_avg"] / (1 - beta1 ** t)
        v_hat = s["exp_avg_sq"] / (1 - beta2 ** t)
        p.sub_(lr * m_hat / (v_hat + eps).sqrt())
