# mistakes: relative-increase
# lines: 26
import copy

import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    m = copy.deepcopy(model)
    m.zero_grad(set_to_none=True)
    state = torch.get_rng_state()

    loss_1 = loss_fn(m(xb), yb)
    loss_1.backward()
    grad_norm = torch.sqrt(sum((p.grad ** 2).sum() for p in m.parameters() if p.grad is not None))
    with torch.no_grad():
        for p in m.parameters():
            if p.grad is not None:
                p.add_(p.grad * (rho / grad_norm))

        torch.set_rng_state(state)
        loss_2 = loss_fn(m(xb), yb)
    torch.set_rng_state(state)

    # 얼마나 커졌나
    return ((loss_2 - loss_1) / loss_1).item()
