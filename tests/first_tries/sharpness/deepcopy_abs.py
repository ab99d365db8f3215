# mistakes: different-masks, advances-rng, absolute-value
# lines: 21, 12, 22
from copy import deepcopy

import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    twin = deepcopy(model)
    twin.zero_grad()

    base_loss = loss_fn(twin(xb), yb)
    base_loss.backward()

    grads = [p.grad for p in twin.parameters() if p.grad is not None]
    norm = torch.norm(torch.stack([g.norm() for g in grads]))
    with torch.no_grad():
        for p in twin.parameters():
            if p.grad is not None:
                p.add_(p.grad, alpha=rho / norm.item())
        high_loss = loss_fn(twin(xb), yb)
    return abs(high_loss.item() - base_loss.item())
