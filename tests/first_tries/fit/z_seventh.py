# mistakes: zero-grad-once, keeps-graphs
# lines: 19, 24
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []

    def compute_loss(xb, yb):
        return loss_fn(model(xb), yb)

    for _ in range(epochs):
        model.train()
        running = 0.0
        samples = 0

        if zero_grad:
            opt.zero_grad()
            for xb, yb in loader:
                loss = compute_loss(xb, yb)
                loss.backward()
                opt.step()
                running = running + loss * len(xb)
                samples = samples + len(xb)
        else:
            # 발산 실험: 지우지 않는다
            for xb, yb in loader:
                loss = compute_loss(xb, yb)
                loss.backward()
                opt.step()
                running = running + loss * len(xb)
                samples = samples + len(xb)

        history.append(float(running / samples))
    return history
