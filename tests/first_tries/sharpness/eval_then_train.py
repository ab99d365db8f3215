# mistakes: forces-eval-mode, leaves-gradients, leaves-train-mode
# lines: 7, 10, 24
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    model.eval()
    params = [p for p in model.parameters() if p.requires_grad]

    model.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in params]
    norm = torch.sqrt(sum((g**2).sum() for g in grads))

    saved = [p.detach().clone() for p in params]
    with torch.no_grad():
        for p, g in zip(params, grads):
            p += rho * g / norm
        up = loss_fn(model(xb), yb)
        for p, w in zip(params, saved):
            p.copy_(w)

    model.train()
    return (up - loss).item()
