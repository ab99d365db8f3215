# mistakes: mode-lost-on-error, returns-tensor, stops-at-nan
# lines: 17, 11, 12
# hidden:
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):
    modes = {m: m.training for m in model.modules()}
    model.train()
    losses, step = [], 0
    while step < max_steps:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        losses.append(loss.detach())
        if not loss > target:
            break
        loss.backward()
        opt.step()
        step += 1
    for m, t in modes.items():
        m.training = t
    opt.zero_grad()
    return losses
