# expect: missing-zero-grad+mean-of-batch-means+missing-train-mode+keeps-graphs
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for epoch in range(epochs):
        losses = []
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            losses.append(loss)
        history.append(torch.stack(losses).mean().item())
    return history
