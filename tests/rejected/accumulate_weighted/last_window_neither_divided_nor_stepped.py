# expect: no-division+drops-leftover
def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    updates = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        if (i + 1) % accum_steps == 0:
            opt.step()
            opt.zero_grad()
            updates += 1
    opt.zero_grad()
    return updates
