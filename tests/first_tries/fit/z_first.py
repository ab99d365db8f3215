# mistakes: cumulative-mean, zero-grad-once
# lines: 9, 14
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    loss_sum, n_seen = 0.0, 0

    for ep in range(epochs):
        model.train()
        if zero_grad:
            opt.zero_grad()

        for inputs, targets in loader:
            batch_loss = loss_fn(model(inputs), targets)
            batch_loss.backward()
            opt.step()

            bs = inputs.shape[0]
            loss_sum += batch_loss.item() * bs
            n_seen += bs

        history.append(loss_sum / n_seen)

    return history
