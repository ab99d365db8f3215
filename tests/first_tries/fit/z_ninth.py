# mistakes: missing-sample-weight
# lines: 28
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for epoch in range(epochs):
        model.train()
        loss_sum = 0.0
        seen = 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
                out = model(xb)
                loss = loss_fn(out, yb)
                loss.backward()
                opt.step()
                loss_sum += loss.item() * len(xb)
                seen += len(xb)
            else:
                # 발산 실험: 지우지 않는다
                out = model(xb)
                loss = loss_fn(out, yb)
                loss.backward()
                opt.step()
                loss_sum += loss.item()
                seen += len(xb)
        history.append(loss_sum / seen)
    return history
