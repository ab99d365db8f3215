# mistakes: shared-count, eps-inside-root, decays-none
# lines: 18, 23, 26
# hidden:
import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    beta1, beta2 = betas
    t = 1 + max((slot["step"] for slot in state.values()), default=0)

    def slot_of(index, p):
        if index not in state:
            state[index] = {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        return state[index]

    def update(p, g, slot):
        slot["step"] = t
        slot["exp_avg"].mul_(beta1).add_(g, alpha=1 - beta1)
        slot["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        m_hat = slot["exp_avg"] / (1 - beta1**t)
        v_hat = slot["exp_avg_sq"] / (1 - beta2**t)
        p.sub_(lr * m_hat / (v_hat + eps).sqrt())

    for index, (p, g) in enumerate(zip(params, grads)):
        p.mul_(1 - lr * weight_decay)
        if g is None:
            continue
        update(p, g, slot_of(index, p))
