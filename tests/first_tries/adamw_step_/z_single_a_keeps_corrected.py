# mistakes: keeps-corrected
# lines: 22
# hidden:
import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    b1, b2 = betas
    i = 0
    with torch.no_grad():
        while i < len(params):
            p, g = params[i], grads[i]
            if g is not None:
                if i not in state:
                    state[i] = dict(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
                s = state[i]
                s["step"] += 1
                t = s["step"]
                p.mul_(1 - lr * weight_decay)
                m = s["exp_avg"].mul_(b1).add_(g, alpha=1 - b1)
                v = s["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
                m_hat = m.div_(1 - b1**t)
                v_hat = v / (1 - b2**t)
                p.addcdiv_(m_hat, v_hat.sqrt().add_(eps), value=-lr)
            i += 1
