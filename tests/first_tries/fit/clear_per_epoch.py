# mistakes: one-epoch-less, zero-grad-once, mean-of-batch-means, returns-tensor
# lines: 8, 11, 19, 20
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(1, epochs):
        model.train()
        if zero_grad:
            opt.zero_grad()
        epoch_losses = []
        for xb, yb in loader:
            pred = model(xb)
            loss = loss_fn(pred, yb)
            loss.backward()
            opt.step()
            epoch_losses.append(loss.detach())
        mean = torch.stack(epoch_losses).mean()
        history.append(mean)
    return history
