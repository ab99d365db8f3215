"""_foreach 연산으로 한꺼번에 업데이트하는 풀이."""
import torch


def _fresh(p):
    z = torch.zeros_like(p, requires_grad=False)
    return {"step": 0, "exp_avg": z, "exp_avg_sq": z.clone()}


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    live = [i for i, g in enumerate(grads) if g is not None]
    if not live:
        return
    for i in live:
        if i not in state:
            state[i] = _fresh(params[i])
        state[i]["step"] += 1
    ps = [params[i] for i in live]
    gs = [grads[i] for i in live]
    ms = [state[i]["exp_avg"] for i in live]
    vs = [state[i]["exp_avg_sq"] for i in live]
    ts = [state[i]["step"] for i in live]

    b1, b2 = betas
    torch._foreach_mul_(ps, 1 - lr * weight_decay)
    torch._foreach_lerp_(ms, gs, 1 - b1)
    torch._foreach_mul_(vs, b2)
    torch._foreach_addcmul_(vs, gs, gs, value=1 - b2)

    denom = torch._foreach_div(vs, [1 - b2**t for t in ts])
    torch._foreach_sqrt_(denom)
    torch._foreach_add_(denom, eps)
    torch._foreach_addcdiv_(ps, ms, denom, scalars=[-lr / (1 - b1**t) for t in ts])
