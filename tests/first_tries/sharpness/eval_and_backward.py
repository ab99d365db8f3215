# mistakes: forces-eval-mode, leaves-gradients, advances-rng, restores-one-mode
# lines: 12, 13, 14, 26
# hidden: advances-rng
import copy

import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    backup = copy.deepcopy(model.state_dict())
    was_training = model.training
    model.eval()
    model.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()

    params = [p for p in model.parameters() if p.grad is not None]
    norm = torch.cat([p.grad.flatten() for p in params]).norm()
    with torch.no_grad():
        for p in params:
            p.add_(p.grad, alpha=rho / (norm.item() + 1e-12))
        loss_up = loss_fn(model(xb), yb)

    model.load_state_dict(backup)
    model.zero_grad()
    model.train(was_training)
    return (loss_up - loss).item()
