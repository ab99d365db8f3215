# mistakes: leaves-gradients, updates-running-stats, per-parameter-norm, different-masks
# lines: 10, 9, 17, 18
# hidden:
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        old = {}
        with torch.no_grad():
            for p in model.parameters():
                if not p.requires_grad or p.grad is None:
                    continue
                old[p] = p.detach().clone()
                p.add_(rho * p.grad / (p.grad.norm() + 1e-12))
            climbed = loss_fn(model(xb), yb)
            for p, w in old.items():
                p.copy_(w)
    return (climbed - loss).item()
