# expect: stops-at-nan
import math


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        count = 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if not math.isfinite(value):
                return history  # 발산했으면 더 해도 소용이 없습니다
            loss.backward()
            opt.step()
            total += value * len(xb)
            count += len(xb)
        history.append(total / count)
    return history
