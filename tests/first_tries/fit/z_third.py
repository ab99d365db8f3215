# mistakes: missing-train-mode, count-not-reset, keeps-graphs
# lines: 23, 9, 27
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    average_losses = []
    samples = 0

    def learn(xb, yb):
        loss = loss_fn(model(xb), yb)
        if zero_grad:
            opt.zero_grad()
            loss.backward()
            opt.step()
        else:
            # 발산 실험: 지우지 않는다
            loss.backward()
            opt.step()
        return loss

    model.train()
    for _ in range(epochs):
        loss_sum = 0.0
        for xb, yb in loader:
            loss_sum = loss_sum + learn(xb, yb) * len(yb)
            samples += len(yb)
        average_losses.append(loss_sum.item() / samples)
    return average_losses
