# mistakes: cumulative-mean, missing-train-mode, mean-of-batch-means
# lines: 8, 9, 18
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    losses = []
    model.train()
    for epoch in range(epochs):
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    return history
