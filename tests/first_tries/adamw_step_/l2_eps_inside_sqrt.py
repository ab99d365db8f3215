# mistakes: decay-in-gradient, eps-inside-root, corrects-one-average
# lines: 24, 30, 29
# hidden:
import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    beta1, beta2 = betas
    for i, (p, g) in enumerate(zip(params, grads)):
        if g is None:
            continue
        # 처음이면 상태를 만든다
        if i not in state:
            state[i] = {
                "step": 0,
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }
        s = state[i]
        s["step"] += 1
        t = s["step"]
        # weight decay
        g = g + weight_decay * p
        # 모멘트
        s["exp_avg"].mul_(beta1).add_(g, alpha=1 - beta1)
        s["exp_avg_sq"].mul_(beta2).add_(g * g, alpha=1 - beta2)
        m_hat = s["exp_avg"] / (1 - beta1**t)
        v_hat = s["exp_avg_sq"]
        p -= lr * m_hat / torch.sqrt(v_hat + eps)
