# mistakes: none-as-zero, shared-count, changes-gradients
# lines: 17, 10, 28
# hidden: shared-count
import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    # 지금까지 몇 번 움직였는지
    t = max((s["step"] for s in state.values()), default=0) + 1

    with torch.no_grad():
        for idx in range(len(params)):
            p = params[idx]
            g = grads[idx]
            if g is None:
                g = torch.zeros_like(p)
            if idx not in state:
                state[idx] = {
                    "step": 0,
                    "exp_avg": torch.zeros_like(p),
                    "exp_avg_sq": torch.zeros_like(p),
                }
            st = state[idx]
            st["step"] = t

            st["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
            st["exp_avg"].mul_(b1).add_(g.mul_(1 - b1))

            p.mul_(1 - lr * weight_decay)
            m = st["exp_avg"] / (1 - b1**t)
            v = st["exp_avg_sq"] / (1 - b2**t)
            p.sub_(lr * m / (v.sqrt() + eps))
