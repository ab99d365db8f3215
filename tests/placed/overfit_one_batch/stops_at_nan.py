def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    modes = [(m, m.training) for m in model.modules()]
    losses = []
    try:
        model.train()
        opt.zero_grad()
        for _ in range(max_steps):
            loss = loss_fn(model(xb), yb)
            losses.append(loss.item())
            if not (losses[-1] > target):  # here: stops-at-nan
                break
            loss.backward()
            opt.step()
            opt.zero_grad()
    finally:
        for m, mode in modes:
            m.training = mode
    return losses
