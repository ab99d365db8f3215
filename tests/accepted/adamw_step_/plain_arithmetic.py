import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    for i in range(len(params)):
        p, g = params[i], grads[i]
        if g is not None:
            if i not in state:
                state[i] = dict(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
            s = state[i]
            t = s["step"] + 1
            m = b1 * s["exp_avg"] + (1 - b1) * g
            v = b2 * s["exp_avg_sq"] + (1 - b2) * g**2
            s["step"], s["exp_avg"], s["exp_avg_sq"] = t, m, v
            m_hat, v_hat = m / (1 - b1**t), v / (1 - b2**t)
            p *= 1 - lr * weight_decay
            p -= lr * m_hat / (torch.sqrt(v_hat) + eps)
