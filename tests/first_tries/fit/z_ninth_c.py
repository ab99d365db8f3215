# mistakes: missing-train-mode, cumulative-mean, keeps-graphs
# lines: 8, 10, 27
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    model.train()
    losses = []
    weighted_sum = 0.0
    samples = 0

    def one_batch(xb, yb):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        return loss

    epoch = 0
    while epoch < epochs:
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
                loss = one_batch(xb, yb)
            else:
                loss = one_batch(xb, yb)
            weighted_sum = weighted_sum + loss * len(xb)
            samples += len(xb)
        losses.append(float(weighted_sum / samples))
        epoch += 1
    return losses
