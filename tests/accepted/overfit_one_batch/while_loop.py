def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):
    before = [(m, m.training) for m in model.modules()]
    history = []
    try:
        model.train()
        opt.zero_grad()
        while len(history) < max_steps:
            loss = loss_fn(model(xb), yb)
            history.append(loss.item())
            if loss.item() <= target:
                return history
            loss.backward()
            opt.step()
            opt.zero_grad()
        return history
    finally:
        opt.zero_grad()
        for m, mode in before:
            m.train(mode)
