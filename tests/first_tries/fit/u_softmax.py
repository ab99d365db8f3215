# mistakes: softmax-before-loss
# lines: 14
import torch.nn.functional as F


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for _ in range(epochs):
        model.train()
        total, count = 0.0, 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            probs = F.softmax(model(xb), dim=1)
            loss = loss_fn(probs, yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
            count += len(xb)
        history.append(total / count)
    return history
