# mistakes: cumulative-mean, zero-grad-once, returns-tensor, keeps-graphs
# lines: 13, 20, 29, 29
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    """Train the model and return the average training loss of every epoch."""
    if epochs < 0:
        raise ValueError("epochs must be non-negative")

    epoch_losses: list[float] = []
    total_loss = 0.0
    total_samples = 0

    for epoch in range(epochs):
        model.train()
        if zero_grad:
            # clear the old gradients
            opt.zero_grad(set_to_none=True)

        for inputs, targets in loader:
            outputs = model(inputs)
            loss = loss_fn(outputs, targets)
            loss.backward()
            opt.step()

            batch_size = inputs.size(0)
            total_loss += loss * batch_size
            total_samples += batch_size

        epoch_losses.append(total_loss / max(total_samples, 1))

    return epoch_losses
