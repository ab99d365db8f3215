# mistakes: new-storage, double-state, decay-after-step
# lines: 31, 16, 30
# hidden:
import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    beta1, beta2 = betas
    for i, p in enumerate(params):
        grad = grads[i]
        if grad is None:
            continue
        grad = grad.detach()

        if i not in state:
            zeros = torch.zeros(p.shape)
            state[i] = {"step": 0, "exp_avg": zeros, "exp_avg_sq": zeros.clone()}

        st = state[i]
        st["step"] += 1
        step = st["step"]
        m, v = st["exp_avg"], st["exp_avg_sq"]
        m.mul_(beta1).add_(grad, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)

        m_hat = m / (1 - beta1**step)
        v_hat = v / (1 - beta2**step)

        new = p.data - lr * m_hat / (v_hat.sqrt() + eps)
        new = new * (1 - lr * weight_decay)
        p.data = new
