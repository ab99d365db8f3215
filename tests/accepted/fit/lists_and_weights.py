import numpy as np


def one_epoch(model, opt, loss_fn, loader, zero_grad):
    model.train(True)
    values, sizes = [], []
    for xb, yb in loader:
        if zero_grad:
            model.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        values.append(loss.item())
        sizes.append(len(yb))
    return float(np.average(values, weights=sizes))


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    return [one_epoch(model, opt, loss_fn, loader, zero_grad) for _ in range(epochs)]
