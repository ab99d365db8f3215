# mistakes: numbers-without-none
# lines: 11
# hidden:
import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    b1, b2 = betas
    active = [(p, g) for p, g in zip(params, grads) if g is not None]
    for number, (p, g) in enumerate(active):
        s = state.get(number)
        if s is None:
            s = {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
            state[number] = s
        s["step"] += 1
        p.mul_(1 - lr * weight_decay)
        s["exp_avg"].mul_(b1).add_(g, alpha=1 - b1)
        s["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
        m_hat = s["exp_avg"] / (1 - b1 ** s["step"])
        denom = (s["exp_avg_sq"] / (1 - b2 ** s["step"])).sqrt() + eps
        p.addcdiv_(m_hat, denom, value=-lr)
