# mistakes: missing-train-mode, cumulative-mean, always-clears
# lines: 9, 10, 13
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    model.train()
    total, count = 0.0, 0
    for epoch in range(epochs):
        for xb, yb in loader:
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            # 샘플 수로 가중
            total += loss.item() * len(xb)
            count += len(xb)
        history.append(total / count)
    return history
