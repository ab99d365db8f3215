# mistakes: missing-train-mode, cumulative-mean, always-clears
# lines: 7, 9, 15
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    model.train()
    train_losses = []
    running_loss = 0.0
    seen = 0

    epoch = 0
    while epoch < epochs:
        for inputs, labels in loader:
            opt.zero_grad()
            outputs = model(inputs)
            loss = loss_fn(outputs, labels)
            loss.backward()
            opt.step()

            running_loss += loss.item() * inputs.size(0)
            seen += inputs.size(0)
        train_losses.append(running_loss / seen)
        epoch += 1

    return train_losses
