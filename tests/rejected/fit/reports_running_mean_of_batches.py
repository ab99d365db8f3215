# expect: mean-of-batch-means+missing-train-mode
from statistics import mean


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    per_epoch = []
    model.train()
    for _ in range(epochs):
        per_batch = []
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            if zero_grad:
                opt.zero_grad()
            loss.backward()
            opt.step()
            per_batch.append(loss.item())
        per_epoch.append(mean(per_batch))
    return per_epoch
