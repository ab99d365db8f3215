# mistakes: 마지막 바퀴에서는 손실만 재고 업데이트하지 않음
# lines: 12
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):
    modes = [(m, m.training) for m in model.modules()]
    history = []
    try:
        model.train()
        for step in range(max_steps):
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            history.append(loss.item())
            if loss.item() <= target or step == max_steps - 1:
                break
            loss.backward()
            opt.step()
    finally:
        for m, mode in modes:
            m.training = mode
        opt.zero_grad()
    return history
