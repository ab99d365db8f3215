import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    for k, p in enumerate(params):
        if grads[k] is None:
            continue
        g = grads[k].data
        if state.get(k) is None:
            state[k] = {"step": 0, "exp_avg": p.data * 0, "exp_avg_sq": p.data * 0}
        mine = state[k]
        mine["step"] = t = mine["step"] + 1
        mine["exp_avg"] = betas[0] * mine["exp_avg"] + (1 - betas[0]) * g
        mine["exp_avg_sq"] = betas[1] * mine["exp_avg_sq"] + (1 - betas[1]) * g.square()
        scale = (1 - betas[1] ** t) ** 0.5 / (1 - betas[0] ** t)
        step = scale * mine["exp_avg"] / (mine["exp_avg_sq"].sqrt() + eps * (1 - betas[1] ** t) ** 0.5)
        p.data.copy_((1 - lr * weight_decay) * p.data - lr * step)
