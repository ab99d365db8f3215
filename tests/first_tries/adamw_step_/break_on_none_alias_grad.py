# mistakes: stops-at-none, starts-from-gradient, other-defaults
# lines: 13, 15, 8
# hidden:
import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    i = 0
    for p, g in zip(params, grads):
        if g is None:
            break
        if i not in state:
            state[i] = {"step": 0, "exp_avg": g, "exp_avg_sq": torch.zeros_like(p)}
        s = state[i]
        i += 1
        s["step"] = s["step"] + 1
        n = s["step"]

        # decoupled weight decay
        p.mul_(1 - lr * weight_decay)

        s["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
        s["exp_avg"].mul_(b1).add_(g, alpha=1 - b1)

        bias1 = 1 - b1**n
        bias2 = 1 - b2**n
        denom = (s["exp_avg_sq"] / bias2).sqrt() + eps
        p.addcdiv_(s["exp_avg"], denom, value=-lr / bias1)
