# mistakes: mode-lost-on-error
# lines: 25
# hidden:
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    saved = [(m, m.training) for m in model.modules()]

    def restore():
        for m, mode in saved:
            m.training = mode
        opt.zero_grad()
        model.zero_grad()

    losses = []
    try:
        model.train()
        for _ in range(max_steps):
            loss = loss_fn(model(xb), yb)
            losses.append(loss.item())
            if losses[-1] <= target:
                break
            opt.zero_grad()
            model.zero_grad()
            loss.backward()
            opt.step()
    except Exception:
        restore()
        raise
    restore()
    return losses
