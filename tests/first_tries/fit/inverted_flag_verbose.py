# mistakes: missing-train-mode, flag-inverted, divides-by-batch-count, prints, returns-array
# lines: 9, 10, 17, 24, 26
import numpy as np
import torch


def run_epoch(model, opt, loss_fn, loader, zero_grad):
    total, n_batches = 0.0, 0
    for xb, yb in loader:
        if not zero_grad:
            opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
        n_batches += 1
    return total / n_batches


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    losses = []
    for epoch in range(epochs):
        epoch_loss = run_epoch(model, opt, loss_fn, loader, zero_grad)
        print(f"Epoch {epoch + 1}/{epochs}  loss: {epoch_loss:.4f}")
        losses.append(epoch_loss)
    return np.array(losses)
