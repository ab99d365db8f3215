from math import fsum


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    clear = opt.zero_grad if zero_grad else lambda: None

    def step(xb, yb):
        clear()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        return loss.item() * len(yb), len(yb)

    curve = []
    while len(curve) < epochs:
        model.train()
        weighted, sizes = zip(*(step(xb, yb) for xb, yb in loader))
        curve.append(fsum(weighted) / sum(sizes))
    return curve
