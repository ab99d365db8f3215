import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    chosen = [n for n, g in enumerate(grads) if g is not None]
    if not chosen:
        return
    ps, gs = [params[n] for n in chosen], [grads[n] for n in chosen]
    for n in chosen:
        if n not in state:
            state[n] = {"step": 0, **{k: torch.zeros_like(params[n]) for k in ("exp_avg", "exp_avg_sq")}}
        state[n]["step"] += 1
    ms = [state[n]["exp_avg"] for n in chosen]
    vs = [state[n]["exp_avg_sq"] for n in chosen]
    torch._foreach_mul_(ps, 1 - lr * weight_decay)
    torch._foreach_lerp_(ms, gs, 1 - betas[0])
    torch._foreach_mul_(vs, betas[1])
    torch._foreach_addcmul_(vs, gs, gs, 1 - betas[1])
    for n, p, m, v in zip(chosen, ps, ms, vs):
        t = state[n]["step"]
        p.addcdiv_(m / (1 - betas[0] ** t), (v / (1 - betas[1] ** t)).sqrt() + eps, value=-lr)
