# mistakes: missing-train-mode, mean-of-batch-means, zero-grad-once
# lines: 8, 20, 12
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    model.train()
    history = []
    for epoch in range(epochs):
        if zero_grad:
            opt.zero_grad()
        total = 0.0
        count = 0
        for xb, yb in loader:
            logits = model(xb)
            loss = loss_fn(logits, yb)
            loss.backward()
            opt.step()
            total += loss.item()
            count += 1
        history.append(total / count)
    return history
