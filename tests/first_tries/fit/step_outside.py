# mistakes: missing-sample-weight, step-once-per-epoch, returns-tensor, leaves-eval-mode
# lines: 14, 16, 17, 18
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    result = []
    for _ in range(epochs):
        model.train()
        running_loss = 0.0
        n_samples = 0
        for inputs, targets in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            running_loss = running_loss + loss.detach()
            n_samples += len(inputs)
        opt.step()
        result.append(running_loss / n_samples)
    model.eval()   # 학습이 끝났으니 평가 모드로
    return result
