# mistakes: loss-after-epoch
# lines: 18
# hidden:
import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for _ in range(epochs):
        model.train()
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss_fn(model(xb), yb).backward()
            opt.step()
        # 한 에폭이 끝난 모델의 학습 손실입니다
        with torch.no_grad():
            pairs = [(loss_fn(model(xb), yb).item(), len(xb)) for xb, yb in loader]
        history.append(sum(v * n for v, n in pairs) / sum(n for _, n in pairs))
    return history
