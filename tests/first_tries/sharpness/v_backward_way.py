# mistakes: leaves-gradients, different-masks, advances-rng, updates-running-stats
# lines: 8, 9, 9, 21
# hidden:
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    model.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()

    moved = [p for p in model.parameters() if p.grad is not None]
    backup = [p.detach().clone() for p in moved]
    norm = sum(p.grad.norm().item() ** 2 for p in moved) ** 0.5

    with torch.no_grad():
        for p in moved:
            p += rho * p.grad / (norm + 1e-12)
        loss_up = loss_fn(model(xb), yb)
        for p, w in zip(moved, backup):
            p.copy_(w)
    model.zero_grad()
    return loss_up.item() - loss.item()
