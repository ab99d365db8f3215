# mistakes: missing-train-mode, mean-of-batch-means
# lines: 8, 19
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    model.train()
    for epoch in range(epochs):
        running_loss = 0.0
        for i, (inputs, targets) in enumerate(loader, 1):
            if zero_grad:
                opt.zero_grad()
            outputs = model(inputs)
            loss = loss_fn(outputs, targets)
            loss.backward()
            opt.step()
            running_loss += loss.item()
        history.append(running_loss / i)
    return history
