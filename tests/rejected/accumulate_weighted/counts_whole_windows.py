# expect: leftover-not-counted
def _clear(model, opt):
    opt.zero_grad()
    model.zero_grad()


def _apply(model, opt, denom):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(denom)
    opt.step()
    _clear(model, opt)


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError
    _clear(model, opt)

    seen, i, updates = 0, 0, 0
    for xb, yb in micro_batches:
        size = xb.shape[0]
        mean_loss = loss_fn(model(xb), yb)
        (mean_loss * size).backward()
        seen += size
        i += 1
        if i % accum_steps == 0:
            _apply(model, opt, seen)
            updates += 1
            seen = 0

    if i % accum_steps != 0:
        _apply(model, opt, seen)
    return updates
