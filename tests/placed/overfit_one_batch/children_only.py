def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):
    modes = [(m, m.training) for m in model.children()]
    losses = []
    try:
        model.train()
        for _ in range(max_steps):
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            losses.append(loss.item())
            if losses[-1] <= target:
                break
            loss.backward()
            opt.step()
    finally:
        for m, mode in modes:
            m.train(mode)
    opt.zero_grad()
    return losses
