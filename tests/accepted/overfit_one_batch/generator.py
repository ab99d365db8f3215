def _losses(model, opt, loss_fn, xb, yb, target, max_steps):
    for step in range(max_steps):
        loss = loss_fn(model.forward(xb), yb)
        yield loss.detach().cpu().numpy().item()
        if loss <= target:
            break
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    modules = list(model.modules())
    modes = [m.training for m in modules]
    for m in modules:
        m.training = True
    try:
        return list(_losses(model, opt, loss_fn, xb, yb, target, max_steps))
    finally:
        for m, mode in zip(modules, modes):
            m.training = mode
        model.zero_grad(set_to_none=False)
