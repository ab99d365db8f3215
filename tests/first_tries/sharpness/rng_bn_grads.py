# mistakes: different-masks|advances-rng, updates-running-stats, leaves-gradients
# lines: 20, 20, 12

import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    saved = [p.detach().clone() for p in params]

    loss = loss_fn(model(xb), yb)
    loss.backward()
    base = loss.item()

    norm = torch.sqrt(sum((p.grad ** 2).sum() for p in params if p.grad is not None))
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p.add_(rho * p.grad / (norm + 1e-12))
        perturbed = loss_fn(model(xb), yb).item()
        # 가중치 복원
        for p, w in zip(params, saved):
            p.copy_(w)

    return perturbed - base
