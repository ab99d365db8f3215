# expect: state-for-all
import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    with torch.no_grad():
        for i, p in enumerate(params):
            if i not in state:
                state[i] = {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        for i, p in enumerate(params):
            g = grads[i]
            if g is None:
                continue
            s = state[i]
            s["step"] += 1
            p.mul_(1 - lr * weight_decay)
            s["exp_avg"].mul_(b1).add_(g, alpha=1 - b1)
            s["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
            m = s["exp_avg"] / (1 - b1 ** s["step"])
            v = s["exp_avg_sq"] / (1 - b2 ** s["step"])
            p.addcdiv_(m, v.sqrt() + eps, value=-lr)
