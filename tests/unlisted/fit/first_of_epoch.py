# mistakes: 둘째 에폭부터 첫 배치 앞에서 지우지 않음(앞 에폭의 마지막 그레이디언트가 남음)
# lines: 9
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    history = []
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for xb, yb in loader:
            if zero_grad and seen > 0:  # 첫 배치에는 지울 것이 없다
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
            seen += len(xb)
        history.append(total / seen)
    return history
